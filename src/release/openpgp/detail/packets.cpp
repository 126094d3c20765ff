#include "openpgp/detail/packets.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::openpgp::detail {
namespace {

constexpr std::string_view kBegin = "-----BEGIN PGP SIGNATURE-----";
constexpr std::string_view kEnd = "-----END PGP SIGNATURE-----";
constexpr int kSignatureTag = 2;

[[noreturn]] void refuse(std::string why) {
  throw Error(Code::invalid, "these are no OpenPGP signatures").because(std::move(why));
}

std::uint8_t byte_of(char c) { return static_cast<std::uint8_t>(c); }

/// CRC-24 (RFC 4880, section 6.1).
std::uint32_t checksum(std::string_view bytes) {
  std::uint32_t crc = 0xB704CE;
  for (const char c : bytes) {
    crc ^= static_cast<std::uint32_t>(byte_of(c)) << 16;
    for (int bit = 0; bit < 8; ++bit) {
      crc <<= 1;
      if (crc & 0x1000000) crc ^= 0x1864CFB;
    }
  }
  return crc & 0xFFFFFF;
}

std::string_view take_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const auto line = trim(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string remove_armor(std::string_view text) {
  if (take_line(text) != kBegin) refuse(fmt::format("the first line is not '{}'", kBegin));
  std::string encoded, sum;
  bool body = false;
  for (std::string_view line; (line = take_line(text)) != kEnd;) {
    if (text.empty()) refuse(fmt::format("the block does not end with '{}'", kEnd));
    if (!body) {
      // Headers such as "Version: …" end with an empty line.
      body = line.empty();
      if (!body && line.find(": ") == std::string_view::npos) refuse("a line is no header of a block");
    } else if (!sum.empty()) {
      refuse("a line stands behind the checksum");
    } else if (line.starts_with('=') && line.size() == 5) {
      sum = line.substr(1);
    } else {
      encoded += line;
    }
  }
  if (!trim(text).empty()) refuse("something stands behind the block");
  std::string bytes = base64_decode(encoded);
  if (!sum.empty()) {
    const std::string expected = base64_decode(sum);
    const std::uint32_t crc = checksum(bytes);
    const std::string got{static_cast<char>(crc >> 16), static_cast<char>(crc >> 8), static_cast<char>(crc)};
    if (got != expected) refuse("the checksum of the block is of other bytes");
  }
  return bytes;
}

/// Takes from the front what it gives; refuses when there is less.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool at_end() const { return bytes_.empty(); }
  std::string_view rest() const { return bytes_; }
  std::string_view take(std::size_t count) {
    if (bytes_.size() < count) refuse("a packet ends before its end");
    const auto out = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return out;
  }
  std::uint32_t number(std::size_t count) {
    std::uint32_t out = 0;
    for (const char c : take(count)) out = out << 8 | byte_of(c);
    return out;
  }

 private:
  std::string_view bytes_;
};

/// RFC 4880, section 5.2.3.1.
std::uint32_t subpacket_length(Reader& in) {
  const std::uint32_t first = in.number(1);
  if (first < 192) return first;
  if (first < 255) return ((first - 192) << 8) + in.number(1) + 192;
  return in.number(4);
}

void read_subpackets(std::string_view area, bool hashed, SignaturePacket& out) {
  for (Reader in(area); !in.at_end();) {
    const std::uint32_t length = subpacket_length(in);
    Reader body(in.take(length));
    if (length == 0) refuse("a part of a packet is empty");
    const auto kind = body.number(1) & 0x7F;
    if (kind == 2 && hashed) out.created = body.number(4);
    // The key id is the end of the fingerprint, which says more.
    if (kind == 16 && out.issuer.empty()) out.issuer = upper(hex(body.take(8)));
    if (kind == 33 && body.number(1) == 4) out.issuer = upper(hex(body.take(20)));
  }
}

void read_signature(std::string_view body, SignaturePacket& out) {
  Reader in(body);
  out.version = static_cast<int>(in.number(1));
  if (out.version == 4) {
    out.type = static_cast<int>(in.number(1));
    in.take(1);  // the key's algorithm
    out.digest = static_cast<int>(in.number(1));
    read_subpackets(in.take(in.number(2)), true, out);
    read_subpackets(in.take(in.number(2)), false, out);
  } else if (out.version == 3) {
    if (in.number(1) != 5) refuse("a packet of version 3 hashes something else than it may");
    out.type = static_cast<int>(in.number(1));
    out.created = in.number(4);
    out.issuer = upper(hex(in.take(8)));
    in.take(1);
    out.digest = static_cast<int>(in.number(1));
  }
}

/// RFC 4880, section 4.2. Lengths that are told piece by piece, or not at all, are for data that are not known yet.
std::uint32_t body_length(Reader& in, std::uint8_t head) {
  if (head & 0x40) {
    const std::uint32_t first = in.number(1);
    if (first < 192) return first;
    if (first < 224) return ((first - 192) << 8) + in.number(1) + 192;
    if (first == 255) return in.number(4);
  } else if ((head & 3) < 3) {
    return in.number(std::size_t{1} << (head & 3));
  }
  refuse("a packet does not say how long it is");
}

}  // namespace

std::vector<SignaturePacket> parse_signatures(std::string_view text) {
  if (text.size() > kLargestSignatures)
    throw Error(Code::too_large, fmt::format("signatures of {} are too large", human_bytes(text.size())))
        .because(fmt::format("{} are taken", human_bytes(kLargestSignatures)));
  if (text.empty()) refuse("there is nothing");
  const std::string bytes = (byte_of(text.front()) & 0x80) ? std::string(text) : remove_armor(text);
  std::vector<SignaturePacket> out;
  for (Reader in(bytes); !in.at_end();) {
    const std::string_view begin = in.rest();
    const auto head = static_cast<std::uint8_t>(in.number(1));
    const int tag = head & 0x40 ? head & 0x3F : head >> 2 & 0xF;
    if (!(head & 0x80) || tag != kSignatureTag) refuse("there is a packet that is no signature");
    if (out.size() == kMostSignatures) refuse(fmt::format("there are more than {}", kMostSignatures));
    auto& packet = out.emplace_back();
    read_signature(in.take(body_length(in, head)), packet);
    packet.bytes = begin.substr(0, begin.size() - in.rest().size());
  }
  if (out.empty()) refuse("the block is empty");
  return out;
}

std::string digest_name(int digest) {
  switch (digest) {
    case 1:
      return "MD5";
    case 2:
      return "SHA-1";
    case 3:
      return "RIPEMD-160";
    case 8:
      return "SHA-256";
    case 9:
      return "SHA-384";
    case 10:
      return "SHA-512";
    case 11:
      return "SHA-224";
    default:
      return fmt::format("digest {}", digest);
  }
}

bool is_strong_digest(int digest) { return digest >= 8 && digest <= 10; }

}  // namespace underway::openpgp::detail
