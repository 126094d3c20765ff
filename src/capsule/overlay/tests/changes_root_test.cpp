// What a real overlayfs leaves in its upper layer.
#include <fcntl.h>
#include <sys/stat.h>

#include "os/process/process.hpp"
#include "overlay/changes.hpp"
#include "places.hpp"

namespace underway::overlay {
namespace {

std::string listed_here(const std::vector<Change>& list) {
  std::string text;
  for (const auto& change : list)
    text += fmt::format("{} {} {}{}\n", describe::spell(change.kind), change.path, change.type,
                        change.from.empty() ? "" : " from " + change.from);
  return text;
}

class OverlayChanges : public OverlayRoot {
 protected:
  /// Runs `script` in an overlay over a small image.
  void change(const std::string& script, const std::string& options = {}) {
    for (const auto* name : {"etc/conf.d", "usr/bin", "var/spool/old", "home"})
      os::make_directories(image() + "/" + name);
    for (const auto* name : {"etc/passwd", "etc/conf.d/a", "usr/bin/tool", "var/spool/old/mail", "etc/gone"})
      os::write_file(image() + "/" + name, name);
    mounted_.emplace(open_overlay({.kind = Kind::directory, .size_bytes = 0}, places_ / "o"));
    os::make_directories(places_ / "merged");
    auto mount = os::Mount::overlay({image()}, mounted_->upper(), mounted_->work(), places_ / "merged", options);
    const auto output =
        os::run_program({.argv = {"sh", "-ec", script}, .cwd = places_ / "merged"}, std::chrono::seconds{20});
    ASSERT_TRUE(output.status.success()) << output.err;
    mount.unmount();
  }
  std::string image() const { return places_ / "image"; }
  std::string seen() const { return listed_here(changes(mounted_->upper(), below_directory(image()))); }
  std::string marked() const { return listed_here(changes(mounted_->upper())); }

  Places places_;
  std::optional<Mounted> mounted_;
};

TEST_F(OverlayChanges, AreExactlyWhatWasDone) {
  change(
      "echo x >> etc/passwd; rm etc/gone; echo n > etc/new; rm -r var/spool/old; mkdir -p var/lib/db; echo d > "
      "var/lib/db/t; rm -r etc/conf.d; mkdir etc/conf.d; echo c > etc/conf.d/c; chmod 700 home");
  EXPECT_EQ(
      seen(),
      "replaced /etc/conf.d directory\nadded /etc/conf.d/c file\ndeleted /etc/gone \nadded /etc/new file\n"
      "modified /etc/passwd file\nmodified /home directory\nadded /var/lib directory\nadded /var/lib/db directory\n"
      "added /var/lib/db/t file\ndeleted /var/spool/old \n");
}

TEST_F(OverlayChanges, AreToldByMarksWithoutAnImage) {
  change("echo x >> etc/passwd; rm etc/gone; echo n > etc/new; mkdir var/lib");
  EXPECT_EQ(marked(), "deleted /etc/gone \nadded /etc/new file\nmodified /etc/passwd file\nadded /var/lib directory\n");
}

TEST_F(OverlayChanges, NameWhereARenamedDirectoryCameFrom) {
  change("mv var/spool/old var/kept; mv etc/conf.d etc/conf.e", "redirect_dir=on");
  EXPECT_EQ(seen(),
            "deleted /etc/conf.d \nmodified /etc/conf.e directory from /etc/conf.d\n"
            "modified /var/kept directory from /var/spool/old\ndeleted /var/spool/old \n");
}

TEST_F(OverlayChanges, AreNoneInAFreshOverlay) {
  change("cat etc/passwd > /dev/null; ls -R > /dev/null");
  EXPECT_EQ(seen(), "");
  EXPECT_EQ(marked(), "");
}

}  // namespace
}  // namespace underway::overlay
