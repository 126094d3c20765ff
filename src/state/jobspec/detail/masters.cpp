#include "jobspec/detail/masters.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::jobspec::detail {
namespace {

namespace fs = std::filesystem;

/// Most entries of a tree; more are a wrong directory, or something for an image.
constexpr std::size_t kMostEntries = 1000;

std::string octal(fs::perms mode) { return fmt::format("{:04o}", static_cast<unsigned>(mode) & 07777U); }

model::FileDeclaration entry_of(const model::FileDeclaration& tree, const fs::path& root,
                                const fs::directory_entry& found) {
  const auto relative = found.path().lexically_relative(root).string();
  model::FileDeclaration file = tree;
  file.name = tree.name + "/" + relative;
  if (!tree.path.empty()) file.path = tree.path + "/" + relative;
  file.source = tree.source + "/" + relative;
  file.when_removed = model::RemovedPolicy::remove;
  file.mode.clear();
  const auto status = found.symlink_status();
  if (status.type() == fs::file_type::symlink) {
    file.type = model::FileType::symlink;
    file.link = fs::read_symlink(found.path()).string();
  } else if (status.type() == fs::file_type::directory) {
    file.mode = octal(status.permissions());
  } else if (status.type() == fs::file_type::regular) {
    file.type = model::FileType::file;
    file.mode = octal(status.permissions());
    file.content = read_master_bytes(found.path());
  } else {
    throw Error(Code::invalid, fmt::format("'{}' cannot be synchronised", found.path().string()))
        .because("it is neither a file, a directory nor a symbolic link");
  }
  // What is said of bytes is said of files only.
  if (file.type != model::FileType::file) {
    file.templating = model::FileTemplate::none;
    file.secret = false;
  }
  return file;
}

}  // namespace

std::string read_master_bytes(const fs::path& path) {
  std::error_code failure;
  const auto size = fs::is_regular_file(path, failure) ? fs::file_size(path, failure) : 0;
  if (failure) throw errno_error(failure.value(), fmt::format("cannot open '{}'", path.string()));
  if (!fs::is_regular_file(path, failure))
    throw Error(Code::invalid, fmt::format("'{}' is no file", path.string()))
        .advise("for a directory with all that lies in it say type = \"directory\"");
  if (size > model::kFileBytes)
    throw Error(Code::too_large, fmt::format("'{}' cannot be synchronised", path.string()))
        .because(fmt::format("it has {}, and {} at most are", human_bytes(size), human_bytes(model::kFileBytes)))
        .advise("put it on a shared file system or into the image, and synchronise what names it");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw errno_error(errno, fmt::format("cannot open '{}'", path.string()));
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (in.bad()) throw errno_error(errno, fmt::format("cannot read '{}'", path.string()));
  return bytes;
}

std::vector<model::FileDeclaration> read_master_tree(const model::FileDeclaration& tree, const fs::path& path) {
  const auto what = fmt::format("cannot read the directory '{}'", path.string());
  std::error_code failure;
  std::vector<model::FileDeclaration> out;
  for (fs::recursive_directory_iterator it(path, failure), end; !failure && it != end; it.increment(failure)) {
    if (out.size() >= kMostEntries)
      throw Error(Code::too_large, what)
          .because(fmt::format("it has more than {} entries", kMostEntries))
          .advise("that many files belong on a shared file system or into the image");
    out.push_back(entry_of(tree, path, *it));
  }
  if (failure) throw errno_error(failure.value(), what);
  std::ranges::sort(out, {}, &model::FileDeclaration::name);
  return out;
}

}  // namespace underway::jobspec::detail
