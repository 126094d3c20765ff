#include "transfer/transfer.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/text.hpp"

namespace underway::transfer {
namespace {

constexpr std::array<long, 6> kBusy = {408, 425, 429, 502, 503, 504};

/// Once for the whole program, before there is any handle.
void prepare_curl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

/// What a path may hold as it is (RFC 3986, 3.3).
std::string escape_path(std::string_view path) {
  std::string out;
  for (const unsigned char c : path) {
    if (std::isalnum(c) || std::string_view("-._~!$&'()*+,;=:@/").find(static_cast<char>(c)) != std::string_view::npos)
      out += static_cast<char>(c);
    else
      out += fmt::format("%{:02X}", c);
  }
  return out;
}

/// One request, and what has come of it.
class Exchange {
 public:
  Exchange(const Upstream& upstream, const std::string& path) : url_(upstream.url) {
    while (url_.ends_with('/')) url_.pop_back();
    url_ += "/" + escape_path(path);
    handle_.reset(curl_easy_init());
    if (!handle_) throw Error(Code::internal, "cannot prepare a transfer");
    CURL* curl = handle_.get();
    curl_easy_setopt(curl, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, url_.starts_with("file:") ? "file" : "http,https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 30L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 16L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                     static_cast<long>(std::max<std::int64_t>(1, upstream.silence / std::chrono::seconds{1})));
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(upstream.longest / std::chrono::milliseconds{1}));
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "underway");
    curl_easy_setopt(curl, CURLOPT_PROXY, upstream.proxy.c_str());
    curl_easy_setopt(curl, CURLOPT_FILETIME, 1L);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason_.data());
    curl_easy_setopt(curl, CURLOPT_PRIVATE, this);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Exchange::on_bytes);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &Exchange::on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, this);
  }
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  CURL* handle() const { return handle_.get(); }
  const std::string& url() const { return url_; }

  void ask_with(const std::string& header) {
    headers_.reset(curl_slist_append(headers_.release(), header.c_str()));
    curl_easy_setopt(handle(), CURLOPT_HTTPHEADER, headers_.get());
  }
  /// Nothing: it is there.
  std::optional<Error> failure(CURLcode result) const {
    if (thrown_) {
      try {
        std::rethrow_exception(thrown_);
      } catch (const Error& error) {
        return error;
      } catch (const std::exception& error) {
        return Error(Code::internal, error.what());
      }
    }
    const long code = status();
    if (result == CURLE_OK && (code == 0 || (code >= 200 && code < 300) || code == 304)) return std::nullopt;
    const auto what = fmt::format("cannot fetch '{}'", url_);
    if (result == CURLE_FILE_COULDNT_READ_FILE || code == 404 || code == 410)
      return Error(Code::not_found, what).because("it is not there");
    if (result == CURLE_OK) {
      const bool busy = std::find(kBusy.begin(), kBusy.end(), code) != kBusy.end();
      return Error(busy                         ? Code::unavailable
                   : code == 401 || code == 403 ? Code::denied
                                                : Code::internal,
                   what)
          .because(fmt::format("the server answers {}", code));
    }
    return Error(result == CURLE_OPERATION_TIMEDOUT ? Code::timeout : Code::unavailable, what)
        .because(reason_[0] != '\0' ? reason_.data() : curl_easy_strerror(result));
  }
  long status() const {
    long code = 0;
    curl_easy_getinfo(handle(), CURLINFO_RESPONSE_CODE, &code);
    return code;
  }

 protected:
  virtual void take(std::string_view bytes) = 0;
  virtual void see_header(std::string_view /*name*/, std::string_view /*value*/) {}

 private:
  /// No exception leaves a call-back: libcurl is C.
  template <class Do>
  std::size_t guarded(std::size_t size, Do what) {
    try {
      what();
      return size;
    } catch (...) {
      thrown_ = std::current_exception();
      return size == 0 ? 1 : 0;
    }
  }
  static std::size_t on_bytes(char* bytes, std::size_t size, std::size_t count, void* context) {
    auto& self = *static_cast<Exchange*>(context);
    return self.guarded(size * count, [&] {
      // The page that says why not is nobody's file.
      if (const long code = self.status(); code == 0 || (code >= 200 && code < 300)) self.take({bytes, size * count});
    });
  }
  static std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* context) {
    auto& self = *static_cast<Exchange*>(context);
    return self.guarded(size * count, [&] {
      const std::string_view line(bytes, size * count);
      const auto colon = line.find(':');
      if (colon != std::string_view::npos) self.see_header(trim(line.substr(0, colon)), trim(line.substr(colon + 1)));
    });
  }

  std::string url_;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle_{nullptr, &curl_easy_cleanup};
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers_{nullptr, &curl_slist_free_all};
  std::array<char, CURL_ERROR_SIZE> reason_{};
  std::exception_ptr thrown_;
};

/// A small file, whole.
class Small : public Exchange {
 public:
  Small(const Upstream& upstream, const std::string& path, std::size_t limit, const Known& known)
      : Exchange(upstream, path), limit_(limit), known_(known) {
    if (!known.etag.empty()) ask_with("If-None-Match: " + known.etag);
    if (!known.modified.empty()) ask_with("If-Modified-Since: " + known.modified);
  }
  Document document() {
    long modified = -1;
    curl_easy_getinfo(handle(), CURLINFO_FILETIME, &modified);
    if (status() == 304) return {};
    // Of a directory: the time of the file is all that there is to tell by.
    if (url().starts_with("file:")) found_.modified = std::to_string(modified);
    if (url().starts_with("file:") && found_ == known_) return {};
    return {true, std::move(bytes_), std::move(found_)};
  }

 private:
  void take(std::string_view bytes) override {
    if (bytes_.size() + bytes.size() > limit_)
      throw Error(Code::too_large, fmt::format("'{}' is too large", url()))
          .because(fmt::format("more than {}", human_bytes(limit_)));
    bytes_ += bytes;
  }
  void see_header(std::string_view name, std::string_view value) override {
    if (lower(name) == "etag") found_.etag = value;
    if (lower(name) == "last-modified") found_.modified = value;
  }

  std::size_t limit_;
  Known known_, found_;
  std::string bytes_;
};

/// A large one, on its way to whoever takes it.
class Large : public Exchange {
 public:
  Large(const Upstream& upstream, const Wanted& wanted, std::size_t index, std::uint64_t& bytes)
      : Exchange(upstream, wanted.path), wanted_(wanted), index_(index), bytes_(bytes) {
    received_ = wanted.receiver->received();
    if (received_ > wanted.size) begin_again();
    if (received_ > 0) curl_easy_setopt(handle(), CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(received_));
    resumes_ = received_ > 0;
  }
  std::size_t index() const { return index_; }
  bool is_whole() const { return received_ == wanted_.size; }
  /// Whether the server cannot go on where it was left: what is there is more than it has, or another file's.
  bool cannot_resume(CURLcode result) const {
    return resumes_ && (status() == 416 || result == CURLE_RANGE_ERROR || result == CURLE_BAD_DOWNLOAD_RESUME);
  }
  void begin_again() {
    wanted_.receiver->restart();
    received_ = 0;
  }

 private:
  void take(std::string_view bytes) override {
    if (resumes_ && status() == 200) begin_again();  // it sends all of it
    resumes_ = false;
    if (bytes.size() > wanted_.size - received_)
      throw Error(Code::too_large, fmt::format("'{}' is not what was promised", url()))
          .because(fmt::format("it is larger than the {} bytes of the index", wanted_.size));
    wanted_.receiver->take(bytes);
    received_ += bytes.size();
    bytes_ += bytes.size();
  }

  const Wanted& wanted_;
  std::size_t index_;
  std::uint64_t& bytes_;  ///< of all
  std::uint64_t received_ = 0;
  bool resumes_ = false;
};

Duration pause_after(const Upstream& upstream, unsigned attempt) {
  return upstream.pause * (1U << std::min(attempt - 1, 8U));
}

bool may_help(const Error& error) { return error.code() == Code::unavailable || error.code() == Code::timeout; }

}  // namespace

struct Transfer::Impl {
  explicit Impl(Upstream given) : upstream(std::move(given)) {
    prepare_curl();
    multi.reset(curl_multi_init());
    if (!multi) throw Error(Code::internal, "cannot prepare transfers");
    curl_multi_setopt(multi.get(), CURLMOPT_MAX_HOST_CONNECTIONS, static_cast<long>(upstream.connections));
  }

  Upstream upstream;
  std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)> multi{nullptr, &curl_multi_cleanup};
};

namespace {

using Steady = std::chrono::steady_clock;

/// All of one call of fetch().
class Batch {
 public:
  Batch(const Upstream& upstream, CURLM* multi, const std::vector<Wanted>& wanted, std::size_t most_failures)
      : upstream_(upstream), multi_(multi), wanted_(wanted), most_failures_(most_failures), attempts_(wanted.size()) {
    for (std::size_t i = 0; i < wanted.size(); ++i) waiting_.push_back({i, Steady::time_point{}});
  }
  ~Batch() {
    for (auto& [handle, exchange] : running_) curl_multi_remove_handle(multi_, handle);
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  std::vector<Failure> run(const Progress& progress) {
    while (begin_some() || !running_.empty() || !waiting_.empty()) {
      int active = 0;
      curl_multi_perform(multi_, &active);
      int left = 0;
      while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
        if (message->msg == CURLMSG_DONE) end(message->easy_handle, message->data.result);
      }
      if (progress && !progress(bytes_, done_)) break;
      if (failures_.size() >= most_failures_) waiting_.clear();
      curl_multi_poll(multi_, nullptr, 0, 100, nullptr);
    }
    std::sort(failures_.begin(), failures_.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
    return std::move(failures_);
  }

 private:
  struct Waiting {
    std::size_t index;
    Steady::time_point from;
  };

  bool begin_some() {
    const auto now = Steady::now();
    for (auto it = waiting_.begin(); it != waiting_.end() && running_.size() < upstream_.connections;) {
      if (it->from > now) {
        ++it;
        continue;
      }
      const auto index = it->index;
      it = waiting_.erase(it);
      begin(index);
    }
    return !running_.empty();
  }
  void begin(std::size_t index) {
    ++attempts_[index];
    try {
      auto exchange = std::make_unique<Large>(upstream_, wanted_[index], index, bytes_);
      if (exchange->is_whole()) return complete(index);
      auto* handle = exchange->handle();
      running_.emplace(handle, std::move(exchange));
      curl_multi_add_handle(multi_, handle);
    } catch (const Error& error) {
      failures_.push_back({index, error});
    }
  }
  void complete(std::size_t index) {
    try {
      wanted_[index].receiver->finish();
      ++done_;
    } catch (const Error& error) {
      failures_.push_back({index, error});
    }
  }
  void end(CURL* handle, CURLcode result) {
    curl_multi_remove_handle(multi_, handle);
    const auto at = running_.find(handle);
    const auto exchange = std::move(at->second);
    running_.erase(at);
    const auto index = exchange->index();
    if (exchange->cannot_resume(result)) {
      exchange->begin_again();
      waiting_.push_back({index, Steady::now()});
      return;
    }
    auto failure = exchange->failure(result);
    if (!failure && !exchange->is_whole())
      failure =
          Error(Code::unavailable, fmt::format("cannot fetch '{}'", exchange->url())).because("it ended too early");
    if (!failure) return complete(index);
    if (!may_help(*failure) || attempts_[index] >= upstream_.tries) {
      failures_.push_back({index, std::move(*failure)});
      return;
    }
    waiting_.push_back({index, Steady::now() + pause_after(upstream_, attempts_[index])});
  }

  const Upstream& upstream_;
  CURLM* multi_;
  const std::vector<Wanted>& wanted_;
  std::size_t most_failures_;
  std::vector<unsigned> attempts_;
  std::deque<Waiting> waiting_;
  std::map<CURL*, std::unique_ptr<Large>> running_;
  std::vector<Failure> failures_;
  std::uint64_t bytes_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

Transfer::Transfer(Upstream upstream) : impl_(std::make_unique<Impl>(std::move(upstream))) {}
Transfer::~Transfer() = default;

Document Transfer::get(const std::string& path, std::size_t limit, const Known& known) {
  for (unsigned attempt = 1;; ++attempt) {
    Small exchange(impl_->upstream, path, limit, known);
    const auto failure = exchange.failure(curl_easy_perform(exchange.handle()));
    if (!failure) return exchange.document();
    if (!may_help(*failure) || attempt >= impl_->upstream.tries) throw Error(*failure);
    std::this_thread::sleep_for(pause_after(impl_->upstream, attempt));
  }
}

std::vector<Failure> Transfer::fetch(const std::vector<Wanted>& wanted, std::size_t most_failures,
                                     const Progress& progress) {
  return Batch(impl_->upstream, impl_->multi.get(), wanted, most_failures).run(progress);
}

}  // namespace underway::transfer
