// Volumes of exec tasks on the real kernel.
#include <sys/mount.h>

#include "driver_fixture.hpp"
#include "os/mount.hpp"

namespace underway::driver {
namespace {

TEST_F(DriverTest, ExecMountsVolumesWhereTheMachineHasNothing) {
  const std::string volume = path_ + "/volume";
  os::make_directories(volume + "/below");
  os::write_file(volume + "/old", "old\n");
  ::chmod(volume.c_str(), 0777);
  spec_.mounts = {{volume, "/srv/underway-test/deep", false},
                  {volume, "/underway-test-top", true},
                  {volume, "/local/data", false},
                  {volume, "/mnt", false}};
  script(
      "for d in /srv/underway-test/deep /underway-test-top /local/data /mnt; do cat $d/old; "
      "touch $d/new 2>/dev/null && echo wrote && rm $d/new; done; ls -d /srv/underway-test /usr/bin /etc/hosts; "
      "touch /srv/x /srv/underway-test/x 2>/dev/null || echo read-only; echo kept > /mnt/kept");
  const auto status = finish(*make_exec(options_));
  EXPECT_TRUE(status.exit.success()) << err();
  EXPECT_EQ(out(), "old\nwrote\nold\nold\nwrote\nold\nwrote\n/etc/hosts\n/srv/underway-test\n/usr/bin\nread-only\n")
      << err();
  EXPECT_EQ(os::read_file(volume + "/kept"), "kept\n");
  EXPECT_FALSE(os::exists("/srv/underway-test")) << "the machine is as it was";
  EXPECT_FALSE(os::exists("/underway-test-top"));
}

TEST_F(DriverTest, ExecSharesMountsBelowVolumesAsTheirPropagationSays) {
  using Propagation = TaskMount::Propagation;
  const std::string volume = path_ + "/volume";
  os::make_directories(volume + "/late");
  os::make_directories(volume + "/task");
  auto shared = os::Mount::bind(volume, volume);
  auto made_shared = ::mount(nullptr, volume.c_str(), nullptr, MS_SHARED, nullptr);
  ASSERT_EQ(made_shared, 0);
  spec_.mounts = {{volume, "/mnt/private", false, Propagation::isolated},
                  {volume, "/mnt/slave", false, Propagation::host_to_task},
                  {volume, "/mnt/both", false, Propagation::bidirectional}};
  script("until [ -e /local/go ]; do sleep 0.02; done; for d in private slave both; do ls /mnt/$d/late; done");
  const auto driver = make_exec(options_);
  task_ = driver->start(spec_);
  const auto space = os::Namespace::of_process(task_->status().process.pid, CLONE_NEWNS);
  os::SpawnSpec inside;
  inside.argv = {"/bin/mount", "-t", "tmpfs", "of-the-task", "/mnt/both/task"};
  inside.join = {&space};
  EXPECT_TRUE(os::spawn(inside).wait().success());
  EXPECT_TRUE(os::is_mount_point(volume + "/task")) << "from the task to the machine";
  {
    auto late = os::Mount::tmpfs(volume + "/late");
    os::write_file(volume + "/late/seen", "");
    os::write_file(spec_.task_dir + "/local/go", "");
    EXPECT_TRUE(task_->wait(seconds{60}));
    EXPECT_EQ(out(), "seen\nseen\n") << err();
  }
  task_->destroy();
  EXPECT_TRUE(os::is_mount_point(volume + "/task")) << "the end of the task unmounts nothing";
  os::unmount_all(volume + "/task");
  shared.unmount();
}

TEST_F(DriverTest, VolumesCannotCoverWhatIsTheTasksOwn) {
  const auto driver = make_exec(options_);
  script("true");
  for (const auto& [destination, why] :
       std::vector<std::pair<std::string, std::string>>{{"/proc/x", "/proc is the task's own"},
                                                        {"/local", "it is the task's own"},
                                                        {"/", "it is the root itself"},
                                                        {"/srv/../etc", "it holds '..'"},
                                                        {"srv", "it is no absolute path"}}) {
    SCOPED_TRACE(destination);
    spec_.mounts = {{path_, destination}};
    try {
      driver->start(spec_);
      ADD_FAILURE() << "it started";
    } catch (const Error& error) {
      EXPECT_THAT(error.one_line(), HasSubstr(why));
    }
  }
  // A link of the task's making is not followed.
  os::make_directories(spec_.task_dir + "/local");
  ASSERT_EQ(::symlink("/etc", (spec_.task_dir + "/local/link").c_str()), 0);
  spec_.mounts = {{path_, "/local/link/underway-test"}};
  EXPECT_THROW(driver->start(spec_), Error);
  EXPECT_FALSE(os::exists("/etc/underway-test"));
}

}  // namespace
}  // namespace underway::driver
