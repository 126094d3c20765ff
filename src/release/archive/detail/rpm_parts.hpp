#pragma once
/// @file
/// What stands where in an `.rpm` file, and what its header says.

#include <string>
#include <string_view>

#include "archive/detail/rpm_header.hpp"
#include "archive/rpm.hpp"

namespace underway::archive::detail {

/// Tags that are looked at in more than one place.
enum Tag : std::uint32_t {
  kSignatureSha1 = 269,
  kSignatureSha256 = 273,
  kSignatureMd5 = 1004,
  kPayloadSize = 1007,
  kLongPayloadSize = 271,
  kPayloadDigest = 5092,
  kPayloadDigestAlgorithm = 5093,
};

struct Place {
  std::size_t begin = 0, end = 0;
  std::string_view in(std::string_view bytes) const { return bytes.substr(begin, end - begin); }
};
struct Parts {
  Place signatures, header;  ///< the payload begins where the header ends
};

/// Where they lie. `read(offset, size)` gives bytes of the file, and throws invalid where it ends.
template <class Read>
Parts find_parts(const Read& read);

/// Throws Error(invalid) for what does not begin like an .rpm file.
void check_lead(std::string_view lead);
inline constexpr std::size_t kLead = 96;

/// `name` is for errors.
std::vector<File> files_of(const RpmHeader& header, const std::string& name);
rpmmd::Description describe(const RpmHeader& header, const RpmHeader& signatures, const std::vector<File>& files);
std::vector<std::string> scripts_of(const RpmHeader& header);

template <class Read>
Parts find_parts(const Read& read) {
  constexpr std::size_t kAlignment = 8;
  check_lead(read(0, kLead));
  Parts out;
  out.signatures.begin = kLead;
  out.signatures.end = kLead + RpmHeader::size_of(read(kLead, kHeaderIntro));
  out.header.begin = (out.signatures.end + kAlignment - 1) / kAlignment * kAlignment;
  out.header.end = out.header.begin + RpmHeader::size_of(read(out.header.begin, kHeaderIntro));
  return out;
}

}  // namespace underway::archive::detail
