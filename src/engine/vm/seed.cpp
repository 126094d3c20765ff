#include "vm/seed.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <memory>

#include "base/error.hpp"
#include "os/file.hpp"

namespace underway::vm {
namespace {

using Archive = std::unique_ptr<archive, decltype(&archive_write_free)>;

void check(archive* of, int result) {
  if (result == ARCHIVE_OK) return;
  throw Error(Code::internal, "cannot make a disk for cloud-init").because(archive_error_string(of));
}

void add_file(archive* to, const char* name, const std::string& text) {
  const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(), &archive_entry_free);
  archive_entry_set_pathname(entry.get(), name);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(text.size()));
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0444);
  archive_entry_set_mtime(entry.get(), 0, 0);
  check(to, archive_write_header(to, entry.get()));
  if (archive_write_data(to, text.data(), text.size()) != static_cast<la_ssize_t>(text.size()))
    throw Error(Code::internal, "cannot make a disk for cloud-init").because(archive_error_string(to));
}

}  // namespace

CloudInitConfig completed(CloudInitConfig config, const std::string& task_directory) {
  if (config.directory.empty()) return config;
  const auto directory = task_directory + "/" + config.directory;
  if (!os::exists(directory))
    throw Error(Code::not_found, fmt::format("the task has no directory '{}'", config.directory))
        .because("config.cloud_init.directory names it")
        .advise("let a template write it, as secrets/seed/user-data");
  for (const auto& [name, text] : {std::pair{"user-data", &config.user_data},
                                   {"meta-data", &config.meta_data},
                                   {"network-config", &config.network_config}}) {
    if (text->empty()) *text = os::find_file(directory + "/" + name, 1U << 20).value_or("");
  }
  return config;
}

void write_seed(const std::string& path, const CloudInitConfig& config, const std::string& machine) {
  const Archive out(archive_write_new(), &archive_write_free);
  check(out.get(), archive_write_set_format_iso9660(out.get()));
  check(out.get(), archive_write_set_options(out.get(), "volume-id=CIDATA,joliet,rockridge=useful"));
  std::string bytes(4U << 20, '\0');
  std::size_t used = 0;
  check(out.get(), archive_write_open_memory(out.get(), bytes.data(), bytes.size(), &used));
  add_file(out.get(), "user-data", config.user_data);
  add_file(out.get(), "meta-data",
           !config.meta_data.empty() ? config.meta_data
                                     : fmt::format("instance-id: {}\nlocal-hostname: {}\n", machine,
                                                   config.hostname.empty() ? machine : config.hostname));
  if (!config.network_config.empty()) add_file(out.get(), "network-config", config.network_config);
  check(out.get(), archive_write_close(out.get()));
  bytes.resize(used);
  // It may hold passwords.
  os::write_file(path, bytes, 0600, {}, os::Durability::cached);
}

}  // namespace underway::vm
