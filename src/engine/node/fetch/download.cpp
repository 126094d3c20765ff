#include <curl/curl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>

#include "base/error.hpp"
#include "base/text.hpp"
#include "node/fetch/fetch.hpp"

namespace underway::node::fetch {

namespace {

struct Sink {
  int fd;
  std::int64_t left;
  bool too_large = false;
  int failed = 0;
};

std::size_t take(char* bytes, std::size_t size, std::size_t count, void* context) {
  auto& sink = *static_cast<Sink*>(context);
  const std::size_t total = size * count;
  sink.left -= static_cast<std::int64_t>(total);
  if (sink.left < 0) {
    sink.too_large = true;
    return 0;
  }
  for (std::size_t done = 0; done < total;) {
    const auto wrote = ::write(sink.fd, bytes + done, total - done);
    if (wrote < 0) {
      sink.failed = errno;
      return 0;
    }
    done += static_cast<std::size_t>(wrote);
  }
  return total;
}

}  // namespace

void download(const FetchRequest& request, const os::Fd& file) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(), &curl_easy_cleanup);
  if (!handle) throw Error(Code::internal, "cannot prepare the download");
  curl_slist* list = nullptr;
  for (const auto& [name, value] : request.headers)
    list = curl_slist_append(list, fmt::format("{}: {}", name, value).c_str());
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(list, &curl_slist_free_all);

  Sink sink{file.get(), request.max_bytes};
  std::array<char, CURL_ERROR_SIZE> reason{};
  CURL* curl = handle.get();
  curl_easy_setopt(curl, CURLOPT_URL, request.source.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
  curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 30L);
  // A server that sends next to nothing for a minute has hung.
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 16L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 60L);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "underway-fetch");
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, request.insecure ? 0L : 1L);
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, request.insecure ? 0L : 2L);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &take);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &sink);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason.data());
  const CURLcode result = curl_easy_perform(curl);
  if (sink.too_large)
    throw Error(Code::too_large, fmt::format("'{}' is too large", request.source))
        .because(fmt::format("more than {}", human_bytes(static_cast<std::uint64_t>(request.max_bytes))));
  if (sink.failed != 0) throw errno_error(sink.failed, "cannot store the download");
  if (result != CURLE_OK)
    throw Error(result == CURLE_OPERATION_TIMEDOUT ? Code::timeout : Code::unavailable,
                fmt::format("cannot download '{}'", request.source))
        .because(reason[0] != '\0' ? reason.data() : curl_easy_strerror(result));
}

void check_digest(const os::Fd& file, const std::string& checksum) {
  std::string kind = "";
  std::string expected = lower(checksum);
  if (const std::size_t colon = checksum.find(':'); colon != std::string::npos) {
    kind = lower(checksum.substr(0, colon));
    expected = lower(checksum.substr(colon + 1));
  } else {
    static const std::map<std::size_t, std::string> by_length = {
        {32, "md5"}, {40, "sha1"}, {64, "sha256"}, {128, "sha512"}};
    if (const auto known = by_length.find(expected.size()); known != by_length.end()) kind = known->second;
  }
  const bool known = kind == "md5" || kind == "sha1" || kind == "sha256" || kind == "sha512";
  const EVP_MD* digest = known ? EVP_get_digestbyname(kind.c_str()) : nullptr;
  if (digest == nullptr)
    throw Error(Code::invalid, fmt::format("checksum '{}' is of no known kind", checksum))
        .advise("write it as sha256:<hexadecimal>; md5, sha1 and sha512 work as well");
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  EVP_DigestInit_ex(context.get(), digest, nullptr);
  std::vector<char> buffer(1U << 18);
  for (off_t offset = 0;;) {
    const auto got = ::pread(file.get(), buffer.data(), buffer.size(), offset);
    if (got < 0) throw errno_error(errno, "cannot read what was fetched");
    if (got == 0) break;
    EVP_DigestUpdate(context.get(), buffer.data(), static_cast<std::size_t>(got));
    offset += got;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> value{};
  unsigned size = 0;
  EVP_DigestFinal_ex(context.get(), value.data(), &size);
  const std::string found = hex(std::string_view(reinterpret_cast<const char*>(value.data()), size));
  if (found != expected)
    throw Error(Code::invalid, "the checksum does not match")
        .because(fmt::format("expected {}:{}, have {}:{}", kind, expected, kind, found));
}

}  // namespace underway::node::fetch
