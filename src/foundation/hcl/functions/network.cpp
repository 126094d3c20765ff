#include "hcl/detail/arguments.hpp"

#include <arpa/inet.h>

#include <fmt/format.h>

#include <array>

namespace underway::hcl::detail {

namespace {

__extension__ typedef unsigned __int128 Address;

/// An IP prefix; the address is right-aligned in 128 bits for both families.
struct Prefix {
  Address address = 0;
  int length = 0;
  int bits = 32;  ///< 32 or 128

  Address host_mask() const {
    const int hosts = bits - length;
    return hosts >= 128 ? ~Address{0} : (Address{1} << hosts) - 1;
  }
};

Prefix parse_prefix(const std::string& text) {
  const auto refuse = [&](std::string_view why) -> ArgumentError {
    return {0, fmt::format("{} is no prefix such as 10.0.0.0/8: {}", describe(Value(text), 60), why)};
  };
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) throw refuse("'/' and a length are missing");
  const std::string host = text.substr(0, slash);
  std::array<unsigned char, 16> bytes{};
  Prefix prefix;
  if (::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1) {
    prefix.bits = 32;
  } else if (::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1) {
    prefix.bits = 128;
  } else {
    throw refuse("the address is not valid");
  }
  for (int i = 0; i < prefix.bits / 8; ++i) prefix.address = prefix.address << 8 | bytes[static_cast<std::size_t>(i)];
  const auto length = Number::parse(text.substr(slash + 1));
  const auto integer = length ? length->to_int64() : std::nullopt;
  if (!integer || *integer < 0 || *integer > prefix.bits)
    throw refuse(fmt::format("the length is not 0 to {}", prefix.bits));
  prefix.length = static_cast<int>(*integer);
  prefix.address &= ~prefix.host_mask();
  return prefix;
}

std::string spell(Address address, int bits) {
  std::array<unsigned char, 16> bytes{};
  for (int i = bits / 8; i-- > 0;) {
    bytes[static_cast<std::size_t>(i)] = static_cast<unsigned char>(address & 0xff);
    address >>= 8;
  }
  char text[INET6_ADDRSTRLEN];
  return ::inet_ntop(bits == 32 ? AF_INET : AF_INET6, bytes.data(), text, sizeof text) == nullptr ? "" : text;
}

Value host(const Arguments& arguments) {
  const Prefix prefix = parse_prefix(arguments.text(0));
  const std::int64_t number = arguments.integer(1);
  // Negative numbers count from the end: -1 is the last address.
  const Address mask = prefix.host_mask();
  const Address wanted = number < 0 ? static_cast<Address>(-(number + 1)) : static_cast<Address>(number);
  if (wanted > mask) {
    throw ArgumentError(1, fmt::format("a /{} prefix has no host {}", prefix.length, number));
  }
  return spell(prefix.address | (number < 0 ? mask - wanted : wanted), prefix.bits);
}

Value netmask(const Arguments& arguments) {
  const Prefix prefix = parse_prefix(arguments.text(0));
  const Address all = prefix.bits == 32 ? Address{0xffffffff} : ~Address{0};
  return spell(~prefix.host_mask() & all, prefix.bits);
}

Value subnet(const Arguments& arguments) {
  const Prefix prefix = parse_prefix(arguments.text(0));
  const std::int64_t more = arguments.integer(1);
  const std::int64_t number = arguments.integer(2);
  if (more < 0 || more > 32 || prefix.length + more > prefix.bits) {
    throw ArgumentError(1, fmt::format("0 to {} more bits are possible", prefix.bits - prefix.length));
  }
  const int length = prefix.length + static_cast<int>(more);
  if (number < 0 || (more < 63 && number >= std::int64_t{1} << more)) {
    throw ArgumentError(2, fmt::format("{} more bits have no subnet {}", more, number));
  }
  const int shift = prefix.bits - length;
  const Address offset = shift >= 128 ? 0 : static_cast<Address>(number) << shift;
  return fmt::format("{}/{}", spell(prefix.address | offset, prefix.bits), length);
}

/// Consecutive subnets of the given sizes, each at the next place where it is aligned.
Value subnets(const Arguments& arguments) {
  const Prefix prefix = parse_prefix(arguments.text(0));
  const Address mask = prefix.host_mask();
  Address used = 0;  // addresses taken so far
  bool full = false;
  Value::List out;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::int64_t more = arguments.integer(i);
    if (more < 1 || more > 32 || prefix.length + more > prefix.bits) {
      throw ArgumentError(i, fmt::format("1 to {} more bits are possible", prefix.bits - prefix.length));
    }
    const int length = prefix.length + static_cast<int>(more);
    const int shift = prefix.bits - length;
    const Address size = Address{1} << shift;
    const Address begin = (used + size - 1) & ~(size - 1);
    if (full || begin < used || begin > mask || mask - begin < size - 1) {
      throw ArgumentError(i, fmt::format("no room is left in {} for a /{}", arguments.text(0), length));
    }
    out.emplace_back(fmt::format("{}/{}", spell(prefix.address | begin, prefix.bits), length));
    used = begin + size;
    full = used > mask || used == 0;
  }
  return Value::list(std::move(out));
}

}  // namespace

void add_network_functions(Entries& entries) {
  entries["cidrhost"] = {"prefix, number", 2, 2, [](const Call& call) { return host(Arguments(call)); }};
  entries["cidrnetmask"] = {"prefix", 1, 1, [](const Call& call) { return netmask(Arguments(call)); }};
  entries["cidrsubnet"] = {"prefix, more_bits, number", 3, 3, [](const Call& call) { return subnet(Arguments(call)); }};
  entries["cidrsubnets"] = {"prefix, more_bits…", 1, Function::kAny,
                            [](const Call& call) { return subnets(Arguments(call)); }};
}

}  // namespace underway::hcl::detail
