#include "sources/environment.hpp"

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "os/fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>

namespace underway::sources {

namespace {

constexpr std::size_t kLongestToken = 16U << 10;
/// Consul's largest value is 512 KiB, Vault's secret 1 MiB; a tree of many is more.
constexpr std::size_t kLongestAnswer = 8U << 20;

http::ClientOptions client_options(const Access& access) {
  http::ClientOptions options;
  options.connect_timeout = access.timeout;
  options.body_limit = kLongestAnswer;
  if (!http::parse_url(access.address).tls) return options;
  const http::TlsFiles files{access.cert_file, access.key_file, access.ca_file};
  options.tls = http::TlsContext::client(files, access.tls_server_name);
  return options;
}

class RealWorld final : public Environment {
 public:
  RealWorld(async::Executor executor, async::Pool& pool, const Clock& clock, Access access, SignIdentity identity)
      : pool_(pool),
        clock_(clock),
        access_(std::move(access)),
        identity_(std::move(identity)),
        client_(std::move(executor), http::parse_url(access_.address), client_options(access_)) {}

  awaitable<http::Response> send(http::Request request, Duration timeout) override {
    return client_.send(std::move(request), timeout);
  }
  awaitable<std::string> site_token() override {
    if (access_.token_file.empty()) co_return std::string();
    auto read = [this] { return read_token_file(access_.token_file); };
    co_return co_await async::on_pool(pool_, read);
  }
  awaitable<std::string> identity(Asker asker) override { return identity_(std::move(asker)); }
  awaitable<void> apart(std::function<void()> job) override { co_await async::on_pool(pool_, job); }
  TimePoint now() const override { return clock_.now(); }
  double random() override { return std::uniform_real_distribution<double>(0, 1)(random_); }
  awaitable<bool> wait(async::Event& news, Duration span) override { return news.wait_for(span); }

 private:
  async::Pool& pool_;
  const Clock& clock_;
  Access access_;
  SignIdentity identity_;
  http::Client client_;
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace

std::unique_ptr<Environment> make_environment(async::Executor executor, async::Pool& pool, const Clock& clock,
                                              Access access, SignIdentity identity) {
  return std::make_unique<RealWorld>(std::move(executor), pool, clock, std::move(access), std::move(identity));
}

std::string read_token_file(const std::string& path) {
  const os::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) throw errno_error(errno, fmt::format("cannot read the token file '{}'", path));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) throw errno_error(errno, fmt::format("cannot read the token file '{}'", path));
  const bool ours = status.st_uid == 0 || status.st_uid == ::geteuid();
  if (!S_ISREG(status.st_mode) || !ours || (status.st_mode & 077) != 0)
    throw Error(Code::denied, fmt::format("the token file '{}' is not used", path))
        .because(
            fmt::format("it must be a plain file of root that nobody else may read; its mode is {:04o}, its owner {}",
                        status.st_mode & 07777, status.st_uid))
        .advise(fmt::format("chmod 0600 {}", path));
  std::string text(kLongestToken + 1, '\0');
  const auto size = ::read(file.get(), text.data(), text.size());
  if (size < 0) throw errno_error(errno, fmt::format("cannot read the token file '{}'", path));
  text.resize(static_cast<std::size_t>(size));
  std::string token(trim(text));
  const bool clean = std::all_of(token.begin(), token.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  if (token.empty() || token.size() > kLongestToken || !clean)
    throw Error(Code::invalid, fmt::format("the token file '{}' holds no token", path))
        .advise("write the token alone into it");
  return token;
}

}  // namespace underway::sources
