// Who uses the SDK gets nothing of a server's or a node's into the program.
#include "os/file.hpp"
#include "os/process/process.hpp"

namespace underway::sdk {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Alone, IsLinkedWithNoLibraryThatOnlyServersAndNodesNeed) {
  os::SpawnSpec spec;
  spec.argv = {"ldd", UNDERWAY_SDK_PROGRAM};
  spec.env = {"PATH=/usr/bin:/bin"};
  const auto listed = os::run_program(std::move(spec), std::chrono::seconds(30));
  ASSERT_TRUE(listed.status.success()) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("libssl")) << "this is about the wrong program";
  for (const auto* library : {"libsqlite3", "libseccomp", "libhwloc", "libcurl", "libarchive", "libnft"})
    EXPECT_THAT(listed.out, Not(HasSubstr(library)));
}

TEST(Alone, HasNothingOfTheirCode) {
  // Names as the compiler spells them: 6server of namespace underway::server.
  const std::string program = os::read_file(UNDERWAY_SDK_PROGRAM, 1U << 30);
  EXPECT_THAT(program.find("8underway3sdk"), Not(std::string::npos)) << "names were stripped off";
  for (const auto* of : {"8underway6server", "8underway9scheduler", "8underway4node", "8underway5store",
                         "8underway6tables", "8underway3api"})
    EXPECT_EQ(program.find(of), std::string::npos) << of;
}

}  // namespace
}  // namespace underway::sdk
