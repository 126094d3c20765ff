#pragma once
/// @file
/// Where files are put: the node itself, or a capsule that runs on it.

#include "os/process/process.hpp"

namespace underway::files {

class FileTarget {
 public:
  virtual ~FileTarget() = default;
  /// Empty: the node itself; else the capsule's.
  virtual const std::string& name() const = 0;
  /// Of the target's tree, opened with O_PATH. Throws unavailable while there is none (the capsule does not run).
  virtual os::Fd root() const = 0;
  /// mountinfo (proc(5)) as it is seen inside: a file that is a mount point cannot be replaced.
  virtual std::string mounts() const = 0;
  /// Starts a program inside, as root, so that it outlives us (os::spawn_detached). Throws as that does.
  virtual os::ProcessIdentity start(os::SpawnSpec spec) const = 0;
  /// Whether users and groups that its /etc/passwd and /etc/group do not have are looked up by this machine's NSS.
  virtual bool uses_name_service() const { return false; }
};

/// The node itself. `root` other than "/" is for tests.
class NodeTarget final : public FileTarget {
 public:
  explicit NodeTarget(std::string root = "/") : root_(std::move(root)) {}
  const std::string& name() const override { return name_; }
  os::Fd root() const override;
  std::string mounts() const override;
  os::ProcessIdentity start(os::SpawnSpec spec) const override;
  bool uses_name_service() const override { return root_ == "/"; }

 private:
  std::string name_;
  std::string root_;
};

/// What runs below a process in namespaces of its own: a capsule, by its init.
class ProcessTarget final : public FileTarget {
 public:
  ProcessTarget(std::string name, os::ProcessIdentity init) : name_(std::move(name)), init_(init) {}
  const std::string& name() const override { return name_; }
  os::Fd root() const override;
  std::string mounts() const override;
  os::ProcessIdentity start(os::SpawnSpec spec) const override;

 private:
  void check() const;
  std::string proc(std::string_view what) const;
  std::string name_;
  os::ProcessIdentity init_;
};

}  // namespace underway::files
