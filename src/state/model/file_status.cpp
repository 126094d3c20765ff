#include "model/file_status.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Enumeration& description(Tag<TargetState>) {
  static const Enumeration e = describe::enumeration<TargetState>("target state");
  return e;
}

const Structure& description(Tag<TargetStatus>) {
  static const Structure s =
      Builder<TargetStatus>("file target", "How the files of a node or capsule stand.")
          .wire<&TargetStatus::node_id>("NodeID", "ID of the node.")
          .wire<&TargetStatus::node>("Node", "Name of the node.")
          .wire<&TargetStatus::cluster>("Cluster", "The node's cluster; empty: it is in none.")
          .wire<&TargetStatus::capsule>("Capsule", "Empty: the node itself.")
          .wire<&TargetStatus::state>(
              "State", "synced, pending (behind), drifted (changed by hand), failed, refused (not believed).")
          .wire<&TargetStatus::reason>("Reason", "Why it is not synced, for people; empty: it is.")
          .wire<&TargetStatus::linked>("Linked", "Whether the node's agent is connected now.")
          .wire<&TargetStatus::files>("Files", "How many it shall have.")
          .wire<&TargetStatus::epoch>("Epoch", "Of the manifest that it follows; 0: it has said nothing yet.")
          .wire<&TargetStatus::revision>("Revision", "Of the manifest that it follows.")
          .wire<&TargetStatus::applied_at>("AppliedAt", "When something was last changed there; zero: never.")
          .time()
          .wire<&TargetStatus::problems>("Problems", "Its files that are not as their master, each with its reason.")
          .wire<&TargetStatus::events>("Events", "What it did with files and found, the newest last.")
          .done();
  return s;
}

const Structure& description(Tag<FilesPut>) {
  static const Structure s =
      Builder<FilesPut>("files put", "What became of declared files.")
          .wire<&FilesPut::added>("Added", "Names of the files that were not declared before.")
          .wire<&FilesPut::changed>("Changed", "Names of the files whose declaration or bytes are others now.")
          .wire<&FilesPut::removed>("Removed",
                                    "Names of the files that the cluster's directory does not declare any more.")
          .wire<&FilesPut::unchanged>("Unchanged", "How many were declared just so before.")
          .done();
  return s;
}

const Structure& description(Tag<FileKeyState>) {
  static const Structure s =
      Builder<FileKeyState>("key of manifests", "How the key that signs manifests of files stands.")
          .wire<&FileKeyState::key>("Key", "Thumbprint of the key that signs.")
          .wire<&FileKeyState::since>("Since", "Since when it signs; zero: from the beginning.")
          .time()
          .wire<&FileKeyState::next>("Next", "Thumbprint of the key that nodes learn to believe; empty: none.")
          .wire<&FileKeyState::next_since>("NextSince",
                                           "Since when nodes learn to believe the next one; zero: there is none.")
          .time()
          .wire<&FileKeyState::serial>("Serial", "Of the newest step.")
          .wire<&FileKeyState::waiting>("Waiting", "Nodes that are alive and have not taken it.")
          .wire<&FileKeyState::behind>("Behind", "Nodes that are off and have not.")
          .done();
  return s;
}

const Structure& description(Tag<FoundFile>) {
  static const Structure s =
      Builder<FoundFile>("read reply", "A file as it is.")
          .wire<&FoundFile::exists>("Exists", "Whether there is such a file; without, the rest is empty.")
          .wire<&FoundFile::data>("Data", "Its bytes, base64.")
          .wire<&FoundFile::owner>("Owner", "Name of its owner, or the number when nobody has that name.")
          .wire<&FoundFile::group>("Group", "Name of its group, or the number when there is none of that name.")
          .wire<&FoundFile::mode>("Mode", "Its permission bits, four octal digits: 0644.")
          .done();
  return s;
}

}  // namespace underway::model
