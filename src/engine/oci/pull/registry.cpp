#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <random>

#include <fmt/format.h>
#include <algorithm>
#include <thread>
#include <type_traits>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "crypto/hasher.hpp"
#include "oci/pull/source.hpp"
#include "oci/registry/challenge.hpp"

namespace underway::oci::pull {
namespace {

constexpr int kRedirects = 10;
constexpr std::int64_t kLongestRetryAfter = 60;  // seconds; who asks for more is told off by the time limit

struct Token {
  std::string token, access_token;
};
const describe::Structure& description(describe::Tag<Token>) {
  static const describe::Structure s = describe::Builder<Token>("token", "Of a token server.")
                                           .wire<&Token::token>("token", "Docker's name.")
                                           .wire<&Token::access_token>("access_token", "OAuth 2's name.")
                                           .done();
  return s;
}

struct Complaint {
  std::string code, message;
};
struct Complaints {
  std::vector<Complaint> errors;
};
const describe::Structure& description(describe::Tag<Complaint>) {
  static const describe::Structure s = describe::Builder<Complaint>("error", "Of a registry.")
                                           .wire<&Complaint::code>("code", "Its kind.")
                                           .wire<&Complaint::message>("message", "For people.")
                                           .done();
  return s;
}
const describe::Structure& description(describe::Tag<Complaints>) {
  static const describe::Structure s =
      describe::Builder<Complaints>("errors", "Of a registry.").wire<&Complaints::errors>("errors", "All.").done();
  return s;
}

/// What a registry says about a failure, fit for a terminal.
std::string complaint(const Answer& answer) {
  std::string out = fmt::format("the answer was {}", answer.status);
  try {
    for (const auto& each : json::decode_text<Complaints>(answer.body).errors)
      out += fmt::format(", {}: {}", each.code.substr(0, 100), each.message.substr(0, 300));
  } catch (const Error&) {
    // Not every proxy speaks JSON.
  }
  std::ranges::replace_if(out, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
  return out;
}

/// "https://host:port" of a URL.
std::string origin(const std::string& url) {
  const auto start = url.find("://");
  return start == std::string::npos ? url : lower(url.substr(0, url.find_first_of("/?#", start + 3)));
}

bool is_loopback(const std::string& registry) {
  return registry == "localhost" || registry.starts_with("localhost:") || registry.starts_with("127.") ||
         registry.starts_with("[::1]");
}

std::string escape(std::string_view text) {
  std::string out;
  for (const unsigned char c : text)
    if (std::isalnum(c) != 0 || std::string_view("-._~").find(static_cast<char>(c)) != std::string_view::npos)
      out += static_cast<char>(c);
    else
      out += fmt::format("%{:02X}", c);
  return out;
}

bool worth_another_try(const Error& error) {
  return error.code() == Code::unavailable || error.code() == Code::timeout;
}

class Registry final : public Source {
 public:
  Registry(const PullRequest& request, const Reference& reference, const Records& records)
      : request_(request), reference_(reference), records_(records) {
    const std::string host = reference.registry == "docker.io" ? "registry-1.docker.io" : reference.registry;
    // Docker's rule: this machine needs no certificate, nor does a registry that need not prove itself.
    may_be_plain_ = request.plain_http || is_loopback(reference.registry) || !request.tls_verify;
    base_ = (request.plain_http ? "http://" : "https://") + host;
  }

  std::string manifest(Http& http) override {
    find_scheme(http);
    const bool by_digest = !reference_.digest.empty();
    std::string text = get_manifest(http, by_digest ? reference_.digest : reference_.tag);
    if (by_digest) compare(text, reference_.digest);
    const Document document = parse_document(text);
    if (!document.is_index()) return text;
    const Descriptor& chosen = choose_platform(document, this_platform());
    text = get_manifest(http, chosen.digest);
    compare(text, chosen.digest);
    return text;
  }

  std::string document(Http& http, const Descriptor& blob) override {
    std::string text = patiently([&]() -> std::string {
      Answer answer = get(http, blob_url(blob), {}, static_cast<std::size_t>(request_.limits.document_bytes), {});
      return std::move(answer.body);
    });
    compare(text, blob.digest);
    return text;
  }

  Layer layer(Http& http, const Descriptor& blob, const Arrived& arrived) override {
    const std::string whole = records_.blob(blob.digest);
    if (!os::exists(whole)) Download(*this, http, blob, arrived).run();
    return {os::open_file(whole, O_RDONLY), true};
  }

  void forget(const Descriptor& blob) override { ::unlink(records_.blob(blob.digest).c_str()); }

 private:
  /// A blob on its way into a file that survives us.
  class Download {
   public:
    Download(Registry& registry, Http& http, const Descriptor& blob, const Arrived& arrived)
        : registry_(registry), http_(http), blob_(blob), arrived_(arrived), path_(registry.records_.part(blob.digest)) {
      part_ = os::open_file(path_, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
      struct stat st{};
      if (::fstat(part_.get(), &st) != 0) throw errno_error(errno, fmt::format("cannot examine '{}'", path_));
      if (st.st_size > blob.size)
        restart();
      else
        resume(st.st_size);
    }

    void run() {
      while (have_ < blob_.size) registry_.patiently([&] { once(); });
      if ("sha256:" + hex(hasher_.finish()) == blob_.digest) {
        if (::rename(path_.c_str(), registry_.records_.blob(blob_.digest).c_str()) != 0)
          throw errno_error(errno, fmt::format("cannot keep the blob '{}'", blob_.digest));
        return;
      }
      if (std::exchange(resumed_, false)) {
        // What an earlier pull left may be to blame.
        restart();
        return run();
      }
      ::unlink(path_.c_str());
      throw Error(Code::denied, fmt::format("the registry sent a wrong layer for '{}'", registry_.reference_.text()))
          .because(fmt::format("its {} bytes have another digest than {}", blob_.size, blob_.digest))
          .advise("try again; if it stays so, push the image again");
    }

   private:
    /// One request. That it broke off is no failure when bytes came before.
    void once() {
      const std::int64_t before = have_;
      std::vector<std::string> headers;
      if (have_ > 0) headers.push_back(fmt::format("Range: bytes={}-", have_));
      const auto sink = [&](const Answer& answer, std::string_view piece) { return take(answer, piece); };
      try {
        const Answer answer = registry_.get(http_, registry_.blob_url(blob_), headers, 64U << 10, sink);
        if (answer.status == 416) restart();
        if (have_ == before && answer.status != 416) throw Error(Code::unavailable, "the registry sent nothing");
      } catch (const Error& error) {
        if (have_ <= before || !worth_another_try(error)) throw;
      }
    }

    bool take(const Answer& answer, std::string_view piece) {
      if (piece.empty()) {
        const std::string range = answer.header("content-range");
        const bool goes_on = answer.status == 206 && range.starts_with(fmt::format("bytes {}-", have_));
        if (have_ > 0 && !goes_on) restart();
        return have_ == 0 ? answer.status == 200 || goes_on : true;
      }
      if (have_ + static_cast<std::int64_t>(piece.size()) > blob_.size)
        throw Error(Code::denied, fmt::format("the registry sent a wrong layer for '{}'", registry_.reference_.text()))
            .because(fmt::format("it has more than the {} bytes that the manifest says", blob_.size));
      os::write_all(part_, piece, fmt::format("'{}'", path_));
      hasher_.add(piece);
      have_ += static_cast<std::int64_t>(piece.size());
      arrived_(static_cast<std::int64_t>(piece.size()));
      return true;
    }

    void restart() {
      if (::ftruncate(part_.get(), 0) != 0 || ::lseek(part_.get(), 0, SEEK_SET) != 0)
        throw errno_error(errno, fmt::format("cannot write '{}'", path_));
      arrived_(-have_);
      have_ = 0;
      hasher_ = crypto::Hasher();
    }

    /// Takes in what is there already; the file then stands at its end.
    void resume(std::int64_t size) {
      resumed_ = size > 0;
      std::vector<char> buffer(1U << 20);
      while (have_ < size) {
        const ssize_t got = ::read(part_.get(), buffer.data(), buffer.size());
        if (got < 0) throw errno_error(errno, fmt::format("cannot read '{}'", path_));
        if (got == 0) break;
        hasher_.add(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
        have_ += got;
      }
      arrived_(have_);
    }

    Registry& registry_;
    Http& http_;
    const Descriptor& blob_;
    const Arrived& arrived_;
    std::string path_;
    os::Fd part_;
    std::int64_t have_ = 0;
    bool resumed_ = false;
    crypto::Hasher hasher_;
  };

  std::string blob_url(const Descriptor& blob) const {
    return fmt::format("{}/v2/{}/blobs/{}", base_, reference_.repository, blob.digest);
  }

  void compare(const std::string& text, const std::string& digest) const {
    if (digest_of(text) == digest) return;
    throw Error(Code::denied, fmt::format("the registry sent something else for '{}'", reference_.text()))
        .because(fmt::format("its digest is {}, not {}", digest_of(text), digest));
  }

  /// Whether it speaks TLS, where that may be left out.
  void find_scheme(Http& http) {
    if (!may_be_plain_ || base_.starts_with("http://")) return;
    try {
      http.ask({.url = base_ + "/v2/"});
    } catch (const Error& error) {
      if (error.code() != Code::unavailable) throw;
      const std::string plain = "http" + base_.substr(5);
      try {
        http.ask({.url = plain + "/v2/"});
        base_ = plain;
      } catch (const Error&) {
        // Then the real request says what is wrong.
      }
    }
  }

  std::string get_manifest(Http& http, const std::string& what) {
    static const std::string kAccept =
        "Accept: application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, "
        "application/vnd.docker.distribution.manifest.v2+json, "
        "application/vnd.docker.distribution.manifest.list.v2+json";
    const std::string url = fmt::format("{}/v2/{}/manifests/{}", base_, reference_.repository, what);
    return patiently([&]() -> std::string {
      Answer answer = get(http, url, {kAccept}, static_cast<std::size_t>(request_.limits.document_bytes), {});
      return std::move(answer.body);
    });
  }

  /// Asks with credentials, through redirects. Errors also: not_found, denied, unavailable for what may pass.
  Answer get(Http& http, const std::string& url, const std::vector<std::string>& headers, std::size_t limit,
             const Sink& sink) {
    const bool asked_for_part = std::ranges::any_of(headers, [](const auto& h) { return h.starts_with("Range:"); });
    std::string at = url;
    bool authorised = false;
    for (int hop = 0; hop <= kRedirects;) {
      Ask ask{.url = at, .headers = headers, .body_limit = limit};
      const std::string authorization = origin(at) == origin(base_) ? authorization_header() : "";
      if (!authorization.empty()) ask.headers.push_back(authorization);
      const Answer answer = http.ask(ask, sink);
      if (!answer.redirect.empty() && answer.status / 100 == 3) {
        if (at.starts_with("https://") && !answer.redirect.starts_with("https://") && request_.tls_verify)
          throw Error(Code::denied, fmt::format("'{}' leads to '{}'", at, answer.redirect))
              .because("that is without TLS")
              .advise("allow it with tls_verify = false");
        at = answer.redirect;
        ++hop;
        continue;
      }
      if (answer.status == 401 && origin(at) == origin(base_) && !authorised) {
        authorised = true;
        if (authorise(http, answer, authorization)) continue;
      }
      if (answer.status / 100 == 2 || (answer.status == 416 && asked_for_part)) return answer;
      throw failure(at, answer);
    }
    throw Error(Code::invalid, fmt::format("'{}' leads from place to place", url))
        .because(fmt::format("more than {} redirects", kRedirects));
  }

  Error failure(const std::string& url, const Answer& answer) {
    const long status = answer.status;
    if (status == 404)
      return Error(Code::not_found, fmt::format("there is no image '{}'", reference_.text()))
          .because(complaint(answer))
          .advise("look at its name and tag");
    if (status == 401 || status == 403)
      return Error(Code::denied, fmt::format("the registry does not give us '{}'", reference_.text()))
          .because(complaint(answer))
          .advise(request_.credentials.empty() ? "it may need credentials: the auth block, or a file of them"
                                               : "look at its name and at the credentials");
    if (status == 429 || status >= 500) {
      const std::lock_guard held(mutex_);
      if (const auto wait = parse_number<std::uint32_t>(answer.header("retry-after")))
        retry_after_ = std::chrono::seconds(std::min<std::int64_t>(*wait, kLongestRetryAfter));
      return Error(Code::unavailable, fmt::format("cannot get '{}'", url)).because(complaint(answer));
    }
    return Error(Code::invalid, fmt::format("cannot get '{}'", url)).because(complaint(answer));
  }

  std::string authorization_header() {
    const std::lock_guard held(mutex_);
    return authorization_;
  }

  /// Answers a challenge; false when there is nothing more to say. `used`: what was refused.
  bool authorise(Http& http, const Answer& answer, const std::string& used) {
    const std::lock_guard lock(authorising_);
    // Another thread has met the same challenge.
    if (authorization_header() != used) return true;
    for (const auto& challenge : parse_challenges(answer.header("www-authenticate"))) {
      std::string header;
      if (challenge.scheme == "bearer") header = "Authorization: Bearer " + fetch_token(http, challenge);
      if (challenge.scheme == "basic" && !request_.credentials.username.empty()) header = basic();
      if (header.empty() || header == used) continue;
      const std::lock_guard held(mutex_);
      authorization_ = header;
      return true;
    }
    return false;
  }

  std::string basic() const {
    return "Authorization: Basic " + base64_encode(request_.credentials.username + ":" + request_.credentials.password);
  }

  /// Source: distribution's token and OAuth 2 specifications (distribution.github.io, spec/auth).
  std::string fetch_token(Http& http, const Challenge& challenge) {
    const auto parameter = [&](const std::string& name) {
      const auto found = challenge.parameters.find(name);
      return found == challenge.parameters.end() ? "" : found->second;
    };
    const std::string realm = parameter("realm");
    const std::string scope = fmt::format("repository:{}:pull", reference_.repository);
    const bool secret = !request_.credentials.empty();
    if (!realm.starts_with("https://") && !(realm.starts_with("http://") && (!secret || may_be_plain_)))
      throw Error(Code::denied,
                  fmt::format("the registry '{}' sends us to '{}' for a token", reference_.registry, realm))
          .because("that is no https address, and credentials would be seen by others");
    Ask ask{.url = realm};
    if (!request_.credentials.identity_token.empty()) {
      ask.form = fmt::format("grant_type=refresh_token&client_id=underway&service={}&scope={}&refresh_token={}",
                             escape(parameter("service")), escape(scope), escape(request_.credentials.identity_token));
    } else {
      ask.url += fmt::format("{}service={}&scope={}", realm.find('?') == std::string::npos ? "?" : "&",
                             escape(parameter("service")), escape(scope));
      if (secret) ask.headers.push_back(basic());
    }
    const Answer answer = http.ask(ask);
    if (answer.status != 200) throw failure(realm, answer);
    const auto token = json::decode_text<Token>(answer.body);
    const std::string& text = token.token.empty() ? token.access_token : token.token;
    if (text.empty() || text.find_first_of("\r\n", 0) != std::string::npos)
      throw Error(Code::invalid, fmt::format("'{}' gave no token", realm));
    return text;
  }

  /// Calls `attempt` until it succeeds, with pauses that grow.
  template <class Attempt>
  std::invoke_result_t<const Attempt&> patiently(const Attempt& attempt) {
    Duration pause = request_.patience.back_off;
    for (std::int64_t failures = 1;; ++failures) {
      try {
        return attempt();
      } catch (const Error& error) {
        if (!worth_another_try(error) || failures >= request_.patience.attempts) throw;
      }
      Duration wait = pause;
      {
        const std::lock_guard held(mutex_);
        wait = std::max(wait, std::exchange(retry_after_, Duration{}));
        // Nodes that were started together must not come back together.
        std::uniform_int_distribution<std::int64_t> jitter(0, std::max<std::int64_t>(1, pause.count() / 2));
        wait += Duration(jitter(random_));
      }
      std::this_thread::sleep_for(wait);
      pause = std::min(pause * 2, request_.patience.longest_back_off);
    }
  }

  const PullRequest& request_;
  const Reference& reference_;
  const Records& records_;
  std::string base_;
  bool may_be_plain_ = false;
  std::mutex authorising_;
  std::mutex mutex_;  ///< of what follows
  std::string authorization_;
  Duration retry_after_{};
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace

std::unique_ptr<Source> open_registry(const PullRequest& request, const Reference& reference, const Records& records) {
  return std::make_unique<Registry>(request, reference, records);
}

}  // namespace underway::oci::pull
