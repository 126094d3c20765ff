#include "archive/detail/rpm_header.hpp"

#include "base/text.hpp"

namespace underway::archive::detail {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kMagic = "\x8e\xad\xe8\x01"sv;
constexpr std::size_t kEntry = 16;
/// As librpm's own (lib/header_internal.h): so many tags, so many bytes.
constexpr std::uint64_t kMostEntries = 65535;
constexpr std::uint64_t kMostBytes = 256U << 20;
/// A package of every file of a distribution has a tenth of it.
constexpr std::uint32_t kMostValues = 1U << 22;

std::uint32_t word_at(std::string_view bytes) { return static_cast<std::uint32_t>(number_at(bytes, 4)); }

}  // namespace

Error bad_header(std::string why) { return Error(Code::invalid, "it is no header of rpm").because(std::move(why)); }

std::uint64_t number_at(std::string_view bytes, std::size_t width) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < width; ++i) out = out << 8U | static_cast<unsigned char>(bytes[i]);
  return out;
}

std::size_t RpmHeader::size_of(std::string_view intro) {
  if (intro.size() < kHeaderIntro || !intro.starts_with(kMagic)) throw bad_header("it does not begin like one");
  const std::uint64_t entries = word_at(intro.substr(8)), bytes = word_at(intro.substr(12));
  if (entries == 0 || entries > kMostEntries) throw bad_header(fmt::format("it has {} entries", entries));
  if (bytes > kMostBytes)
    throw Error(Code::too_large, "a header of rpm is larger than is allowed")
        .because(fmt::format("it has {}, more than {}", human_bytes(bytes), human_bytes(kMostBytes)));
  return kHeaderIntro + entries * kEntry + bytes;
}

RpmHeader::RpmHeader(std::string_view bytes, Kind kind) {
  if (size_of(bytes) != bytes.size()) throw bad_header("it ends too early");
  const std::size_t count = word_at(bytes.substr(8));
  const auto index = bytes.substr(kHeaderIntro, count * kEntry);
  values_ = bytes.substr(kHeaderIntro + index.size());
  // Nobody vouches for the header of the signatures: tools add to it as they like.
  if (kind == Kind::package) check_region(index.substr(0, kEntry), count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto raw = index.substr(i * kEntry, kEntry);
    const std::uint32_t tag = word_at(raw), type = word_at(raw.substr(4)), offset = word_at(raw.substr(8));
    if (type == 0 || type > static_cast<std::uint32_t>(Type::translated))
      throw bad_header(fmt::format("its tag {} has the unknown type {}", tag, type));
    if (offset >= values_.size()) throw bad_header(fmt::format("its tag {} lies outside of it", tag));
    const Entry entry{static_cast<Type>(type), word_at(raw.substr(12)), values_.substr(offset)};
    check(entry, tag);
    // rpm takes one of them, and which is nobody's business to guess.
    if (!entries_.emplace(tag, entry).second) throw bad_header(fmt::format("it has the tag {} twice", tag));
  }
}

std::size_t RpmHeader::width_of(Type type) {
  switch (type) {
    case Type::int16:
      return 2;
    case Type::int32:
      return 4;
    case Type::int64:
      return 8;
    default:
      return 1;
  }
}

void RpmHeader::check(const Entry& entry, std::uint32_t tag) const {
  const auto outside = [&] { return bad_header(fmt::format("the value of its tag {} is not inside", tag)); };
  if (entry.count == 0) throw bad_header(fmt::format("its tag {} has no value", tag));
  switch (entry.type) {
    case Type::text:
    case Type::texts:
    case Type::translated: {
      if (entry.type == Type::text && entry.count != 1)
        throw bad_header(fmt::format("its tag {} is more than one text", tag));
      if (entry.count > kMostValues) throw bad_header(fmt::format("its tag {} has {} texts", tag, entry.count));
      // The last of them has an end inside, so all have.
      std::size_t at = 0;
      for (std::uint32_t i = 0; i < entry.count; ++i) {
        const auto end = entry.value.find('\0', at);
        if (end == std::string_view::npos) throw outside();
        at = end + 1;
      }
      return;
    }
    case Type::binary:
      if (entry.count > entry.value.size()) throw outside();
      return;
    default:
      if (entry.count > kMostValues) throw bad_header(fmt::format("its tag {} has {} numbers", tag, entry.count));
      if (entry.count * width_of(entry.type) > entry.value.size()) throw outside();
  }
}

/// The region is the first entry; its value, at the very end, points back over all the entries.
void RpmHeader::check_region(std::string_view first, std::size_t entries) const {
  constexpr std::uint32_t kImmutable = 63;
  if (word_at(first) != kImmutable)
    throw Error(Code::unsupported, "a header of rpm has no region")
        .because("packages made before rpm 4.0, and broken ones, have none: no digest reaches to what is in them");
  const std::uint64_t offset = word_at(first.substr(8));
  if (word_at(first.substr(4)) != static_cast<std::uint32_t>(Type::binary) || word_at(first.substr(12)) != kEntry ||
      offset + kEntry != values_.size())
    throw bad_header("its region does not end where it does");
  const auto trailer = values_.substr(static_cast<std::size_t>(offset));
  const auto back = static_cast<std::uint32_t>(-static_cast<std::int64_t>(entries * kEntry));
  if (word_at(trailer) != kImmutable || word_at(trailer.substr(4)) != static_cast<std::uint32_t>(Type::binary) ||
      word_at(trailer.substr(8)) != back || word_at(trailer.substr(12)) != kEntry)
    throw bad_header("its region does not reach over all of it");
}

const RpmHeader::Entry* RpmHeader::find(std::uint32_t tag) const {
  const auto it = entries_.find(tag);
  return it == entries_.end() ? nullptr : &it->second;
}

std::string_view RpmHeader::text(std::uint32_t tag) const {
  const Entry* const entry = find(tag);
  if (entry == nullptr || (entry->type != Type::text && entry->type != Type::texts && entry->type != Type::translated))
    return {};
  return entry->value.substr(0, entry->value.find('\0'));
}

std::vector<std::string_view> RpmHeader::texts(std::uint32_t tag) const {
  const Entry* const entry = find(tag);
  std::vector<std::string_view> out;
  if (entry == nullptr || (entry->type != Type::text && entry->type != Type::texts && entry->type != Type::translated))
    return out;
  out.reserve(entry->count);
  auto rest = entry->value;
  for (std::uint32_t i = 0; i < entry->count; ++i) {
    out.push_back(rest.substr(0, rest.find('\0')));
    rest.remove_prefix(out.back().size() + 1);
  }
  return out;
}

std::vector<std::uint64_t> RpmHeader::numbers(std::uint32_t tag) const {
  const Entry* const entry = find(tag);
  std::vector<std::uint64_t> out;
  if (entry == nullptr || entry->type == Type::text || entry->type == Type::texts || entry->type == Type::translated ||
      entry->type == Type::binary)
    return out;
  const std::size_t width = width_of(entry->type);
  out.reserve(entry->count);
  for (std::uint32_t i = 0; i < entry->count; ++i) out.push_back(number_at(entry->value.substr(i * width), width));
  return out;
}

std::uint64_t RpmHeader::number_or(std::uint32_t tag, std::uint64_t otherwise) const {
  const auto all = numbers(tag);
  return all.empty() ? otherwise : all.front();
}

std::string_view RpmHeader::binary(std::uint32_t tag) const {
  const Entry* const entry = find(tag);
  return entry != nullptr && entry->type == Type::binary ? entry->value.substr(0, entry->count) : std::string_view();
}

}  // namespace underway::archive::detail
