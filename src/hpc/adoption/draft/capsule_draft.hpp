#pragma once
/// @file
/// Drafts of capsules for the critical services: who shares one, what each runs, and the files that declare them. A
/// draft parses and says what is still to be filled in; what it cannot know it does not invent.

#include <map>

#include "adoption/division/division.hpp"

namespace underway::adoption {

/// One program of a capsule.
struct DraftService {
  std::string name;     ///< "slurmctld"
  std::string program;  ///< as surveyed
  std::string user;     ///< empty: root
  std::vector<std::string> command;
  std::vector<std::string> ready;
  std::vector<std::string> depends_on;  ///< services of the same capsule
  std::string stop_timeout;
  std::vector<std::string> packages;
  std::vector<std::string> state;          ///< directories that move with it
  std::vector<std::string> configuration;  ///< files that it reads
  std::vector<std::string> notes;          ///< what a person must look at
};

/// Something that the capsule runs at a moment of its life.
struct DraftStep {
  std::string moment;  ///< "probe"
  std::vector<std::string> command;
  std::string timeout;
  std::string why;
};

/// A program of ours in the image.
struct DraftFile {
  std::string name;  ///< "may-start"; in the image below /usr/lib/capsule
  std::string text;
};

struct CapsuleDraft {
  std::string name;                   ///< "slurm-services": of job, image and files
  std::vector<std::string> services;  ///< of the division
  std::vector<DraftService> programs;
  std::vector<DraftStep> steps;
  std::vector<DraftFile> files;
  std::string version;  ///< of its first program's package; "1" when unknown
  bool routes = false;  ///< forwards packets of nodes
  /// On the networks of the place, in their order; see suggest_addresses.
  std::vector<std::string> addresses;
  std::vector<std::string> reasons;  ///< why these are critical
};

struct Drafts {
  std::vector<CapsuleDraft> capsules;  ///< by name
  std::vector<std::string> without;    ///< critical services without a draft, and why
};

/// Services that need each other share a capsule; all others have one of their own.
Drafts draft_capsules(const Division& division, const inspection::HostSurvey& host);

/// A network that capsules join.
struct DraftNetwork {
  std::string name;     ///< "cluster"
  std::string bridge;   ///< on the infrastructure hosts
  std::string address;  ///< of the server today, "10.1.0.1/16"
  std::string gateway;
  std::string interface;  ///< of the server; empty: not known
};

struct DraftPlace {
  std::string hostname;                ///< what nodes call the server
  std::vector<DraftNetwork> networks;  ///< the nodes' first
  std::string node_pool = "infrastructure";
  std::string distribution;  ///< as HostSurvey::system
};
/// From the host's interfaces; the network that `nodes` are in comes first. What is not known is a placeholder of
/// 192.0.2.0/24 (RFC 5737), and the files say so.
DraftPlace place_of(const inspection::HostSurvey& host, const std::vector<std::string>& nodes);

/// Gives each capsule addresses of its own, from the upper end of each network and none of `used`; that of Slurm keeps
/// the server's, since running jobs know it. Whether they are free the driver finds out before it uses one.
void suggest_addresses(Drafts& drafts, const DraftPlace& place, const std::vector<std::string>& used);

/// The job file of a capsule, in HCL.
std::string job_file(const CapsuleDraft& draft, const DraftPlace& place);
/// The definition of its image, for `underway capsule build`.
std::string image_file(const CapsuleDraft& draft, const DraftPlace& place);
/// All files by name: "slurm-services.hcl", "images/slurm-services.hcl", "images/files/slurm-services/may-start".
std::map<std::string, std::string> skeleton(const Drafts& drafts, const DraftPlace& place);

}  // namespace underway::adoption
