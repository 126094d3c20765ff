#include "model/access/identity.hpp"

#include <fmt/format.h>

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

std::string Identity::file_path() const {
  if (!filepath.empty()) return filepath;
  return is_default() ? "secrets/nomad_token" : fmt::format("secrets/nomad_{}.jwt", name);
}

std::string Identity::variable() const { return is_default() ? "NOMAD_TOKEN" : "NOMAD_TOKEN_" + name; }

const Enumeration& description(Tag<IdentityChange>) {
  static const Enumeration e = describe::enumeration<IdentityChange>("identity change mode");
  return e;
}

const Structure& description(Tag<Identity>) {
  static const Structure s =
      Builder<Identity>("identity", "A signed token that says which task this is, renewed while the task runs.")
          .attribute<&Identity::name>("name", "Name", "Its name; without one it is the one that the API takes.")
          .destructive()
          .attribute<&Identity::aud>("aud", "Audience", "For whom it is.")
          .destructive()
          .attribute<&Identity::env>("env", "Env", "Gives it in `NOMAD_TOKEN`, or `NOMAD_TOKEN_<name>`.")
          .destructive()
          .attribute<&Identity::file>("file", "File",
                                      "Gives it in `secrets/nomad_token`, or `secrets/nomad_<name>.jwt`.")
          .destructive()
          .attribute<&Identity::filepath>("filepath", "Filepath", "Another file, in the task directory.")
          .destructive()
          .attribute<&Identity::ttl>("ttl", "TTL", "How long one is good, renewed before that; 0: an hour.")
          .destructive()
          .attribute<&Identity::change_mode>("change_mode", "ChangeMode",
                                             "What a renewal does to the task: `noop`, `restart`, `signal`.")
          .destructive()
          .attribute<&Identity::change_signal>("change_signal", "ChangeSignal", "The signal of change_mode `signal`.")
          .destructive()
          .block_or_attribute<&Identity::extra_claims>("extra_claims", "ExtraClaims",
                                                       "Further claims; values may name `${job.id}` and the like.")
          .destructive()
          .done();
  return s;
}

}  // namespace underway::model
