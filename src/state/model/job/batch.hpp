#pragma once
/// @file
/// Jobs that start others: `periodic` by the clock, `parameterized` by dispatch. What they start is a job of its own,
/// "<parent>/periodic-<unix time>" or "<parent>/dispatch-<time>-<id>", and has the parent's name in `parent_id`.

#include "base/json/describe.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace underway::model {

/// Either `cron` or `crons`.
struct Periodic {
  bool enabled = true;
  std::string spec;
  std::vector<std::string> specs;
  std::string spec_type = "cron";
  bool prohibit_overlap = false;
  std::string time_zone = "UTC";

  /// `cron` or `crons`, whichever is given.
  std::vector<std::string> expressions() const { return spec.empty() ? specs : std::vector<std::string>{spec}; }
};

enum class PayloadRule { optional, required, forbidden };

struct Parameterized {
  PayloadRule payload = PayloadRule::optional;
  std::vector<std::string> meta_required;
  std::vector<std::string> meta_optional;
};

/// `dispatch_payload`: where a task finds the payload of its dispatch.
struct DispatchPayload {
  std::string file;  ///< below the task's `local`
};

/// Source: Nomad's structs.go, DispatchPayloadSizeLimit.
constexpr std::size_t kDispatchPayloadBytes = 16U << 10;

const describe::Enumeration& description(describe::Tag<PayloadRule>);
const describe::Structure& description(describe::Tag<Periodic>);
const describe::Structure& description(describe::Tag<Parameterized>);
const describe::Structure& description(describe::Tag<DispatchPayload>);

}  // namespace underway::model
