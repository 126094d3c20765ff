#include "snapshot/archive.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>

#include "base/json/json.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "crypto/hasher.hpp"
#include "os/file.hpp"
#include "snapshot/state_file.hpp"

namespace underway::snapshot {
namespace {

constexpr const char* kMetadata = "meta.json";
constexpr const char* kState = "state.bin";
constexpr const char* kSums = "SHA256SUMS";
constexpr std::size_t kMetadataLimit = 1U << 20;
constexpr std::size_t kPiece = 1U << 18;

using Archive = std::unique_ptr<archive, int (*)(archive*)>;

Error damaged(std::string why) {
  return Error(Code::invalid, "this is no whole snapshot")
      .because(std::move(why))
      .advise("take another one: nothing was changed");
}
Error damaged(archive* reader) {
  const char* why = archive_error_string(reader);
  return damaged(why == nullptr ? "it cannot be unpacked" : why);
}
void must(int result, archive* writer, const std::string& path) {
  if (result == ARCHIVE_OK) return;
  const int number = archive_errno(writer);
  throw errno_error(number > 0 ? number : EIO, fmt::format("cannot write '{}'", path));
}

/// Calls `use` for the pieces of an open file.
template <class Use>
void each_piece(const os::Fd& file, const std::string& path, Use use) {
  std::string piece(kPiece, '\0');
  while (true) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw errno_error(errno, fmt::format("cannot read '{}'", path));
    if (got == 0) return;
    use(std::string_view(piece.data(), static_cast<std::size_t>(got)));
  }
}

std::string sum_line(const std::string& sum, const char* name) { return fmt::format("{}  {}\n", hex(sum), name); }

class Packing {
 public:
  explicit Packing(std::string path)
      : path_(std::move(path)),
        file_(os::open_file(path_, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600)),
        writer_(archive_write_new(), &archive_write_free) {
    archive_write_set_format_ustar(writer_.get());
    archive_write_add_filter_gzip(writer_.get());
    // A state is the same names over and over: the fastest level packs it nearly as well as the best.
    archive_write_set_filter_option(writer_.get(), "gzip", "compression-level", "1");
    must(archive_write_open_fd(writer_.get(), file_.get()), writer_.get(), path_);
  }
  ~Packing() {
    if (!whole_) ::unlink(path_.c_str());
  }

  void begin(const char* name, std::int64_t size) {
    const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(), &archive_entry_free);
    archive_entry_set_pathname(entry.get(), name);
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0600);
    archive_entry_set_size(entry.get(), size);
    must(archive_write_header(writer_.get(), entry.get()), writer_.get(), path_);
  }
  void write(std::string_view bytes) {
    const auto wrote = archive_write_data(writer_.get(), bytes.data(), bytes.size());
    if (wrote != static_cast<la_ssize_t>(bytes.size())) must(ARCHIVE_FATAL, writer_.get(), path_);
  }
  void add(const char* name, std::string_view text) {
    begin(name, static_cast<std::int64_t>(text.size()));
    write(text);
  }
  Packed finish() {
    must(archive_write_close(writer_.get()), writer_.get(), path_);
    if (::lseek(file_.get(), 0, SEEK_SET) < 0) throw errno_error(errno, fmt::format("cannot read '{}'", path_));
    Packed packed;
    crypto::Hasher hasher;
    each_piece(file_, path_, [&](std::string_view piece) {
      hasher.add(piece);
      packed.size += static_cast<std::int64_t>(piece.size());
    });
    packed.sha256 = hasher.finish();
    whole_ = true;
    return packed;
  }

 private:
  std::string path_;
  os::Fd file_;
  Archive writer_;
  bool whole_ = false;
};

/// The state file as it is being unpacked; it goes unless it is kept.
class Target {
 public:
  explicit Target(std::string path)
      : path_(std::move(path)), file_(os::open_file(path_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600)) {}
  ~Target() {
    if (!kept_) ::unlink(path_.c_str());
  }
  void write(std::string_view bytes) { os::write_all(file_, bytes, fmt::format("'{}'", path_)); }
  void keep() { kept_ = true; }

 private:
  std::string path_;
  os::Fd file_;
  bool kept_ = false;
};

class Unpacking {
 public:
  Unpacking(const std::string& path, const Limits& limits)
      : limits_(limits), reader_(archive_read_new(), &archive_read_free) {
    archive_read_support_format_tar(reader_.get());
    archive_read_support_filter_gzip(reader_.get());
    if (archive_read_open_filename(reader_.get(), path.c_str(), kPiece) != ARCHIVE_OK) throw damaged(reader_.get());
  }

  Metadata read(Target& state) {
    Metadata metadata;
    const std::string text = small(kMetadata);
    try {
      metadata = json::decode_text<Metadata>(text, kMetadata);
    } catch (const Error& error) {
      throw damaged(error.one_line());
    }
    refuse_other_formats(metadata);
    begin(kState);
    std::int64_t size = 0;
    crypto::Hasher hasher;
    pieces([&](std::string_view piece) {
      size += static_cast<std::int64_t>(piece.size());
      if (size > limits_.state_bytes) {
        throw Error(Code::too_large, "the snapshot unpacks to more than is allowed")
            .because(fmt::format("its state has more than {} bytes", limits_.state_bytes));
      }
      hasher.add(piece);
      state.write(piece);
    });
    if (size != metadata.size) throw damaged(fmt::format("its state has {} bytes instead of {}", size, metadata.size));
    const std::string sums = sum_line(crypto::sha256(text), kMetadata) + sum_line(hasher.finish(), kState);
    if (small(kSums) != sums) throw damaged("its sums (SHA-256) are those of something else");
    archive_entry* entry = nullptr;
    if (archive_read_next_header(reader_.get(), &entry) != ARCHIVE_EOF) throw damaged("there is more in it");
    return metadata;
  }

 private:
  static void refuse_other_formats(const Metadata& metadata) {
    if (metadata.program.empty() || metadata.format < 1) {
      throw Error(Code::unsupported, "this is a snapshot of another program")
          .advise("export its jobs and variables there, and register them here");
    }
    if (metadata.format <= kFormat) return;
    throw Error(Code::unsupported, "this snapshot was made by a newer version")
        .because(fmt::format("it has format {}, this version knows up to {}", metadata.format, kFormat))
        .advise(fmt::format("restore it with underway {} or newer", metadata.program));
  }
  void begin(const char* name) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(reader_.get(), &entry);
    if (result == ARCHIVE_EOF) throw damaged(fmt::format("it ends before '{}'", name));
    if (result != ARCHIVE_OK) throw damaged(reader_.get());
    const char* found = archive_entry_pathname(entry);
    if (found == nullptr || std::string_view(found) != name || archive_entry_filetype(entry) != AE_IFREG ||
        archive_entry_hardlink(entry) != nullptr)
      throw damaged(fmt::format("it has something else where '{}' should be", name));
  }
  template <class Use>
  void pieces(Use use) {
    std::string piece(kPiece, '\0');
    while (true) {
      const auto got = archive_read_data(reader_.get(), piece.data(), piece.size());
      if (got < 0) throw damaged(reader_.get());
      if (got == 0) return;
      use(std::string_view(piece.data(), static_cast<std::size_t>(got)));
    }
  }
  std::string small(const char* name) {
    begin(name);
    std::string text;
    pieces([&](std::string_view piece) {
      text += piece;
      if (text.size() > kMetadataLimit) throw damaged(fmt::format("its '{}' is too large", name));
    });
    return text;
  }

  Limits limits_;
  Archive reader_;
};

}  // namespace

Packed pack(const Metadata& metadata, const std::string& state_file, const std::string& archive) {
  const os::Fd state = os::open_file(state_file, O_RDONLY | O_NOFOLLOW);
  Packing packing(archive);
  const std::string text = json::encode(metadata) + "\n";
  packing.add(kMetadata, text);
  packing.begin(kState, metadata.size);
  crypto::Hasher hasher;
  each_piece(state, state_file, [&](std::string_view piece) {
    hasher.add(piece);
    packing.write(piece);
  });
  packing.add(kSums, sum_line(crypto::sha256(text), kMetadata) + sum_line(hasher.finish(), kState));
  return packing.finish();
}

Metadata unpack(const std::string& archive, const std::string& state_file, const Limits& limits) {
  Target state(state_file);
  Metadata metadata = Unpacking(archive, limits).read(state);
  StateReader reader(state_file);
  while (reader.next()) {
  }
  state.keep();
  return metadata;
}

Metadata inspect(const std::string& archive) {
  std::string directory = "/tmp/underway-snapshot-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) throw errno_error(errno, "cannot make a directory in '/tmp'");
  struct Gone {
    const std::string& directory;
    ~Gone() {
      ::unlink((directory + "/state").c_str());
      ::rmdir(directory.c_str());
    }
  } const gone{directory};
  return unpack(archive, directory + "/state");
}

}  // namespace underway::snapshot
