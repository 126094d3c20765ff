#include "host/console.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "os/file.hpp"

namespace underway::host {
namespace {

TEST(Console, EndsInTheLastWordsOfTheAgent) {
  struct Case {
    const char* name;
    std::string console;
    std::string words;
  };
  const std::string init = "underway-init: /usr/bin/underway exited with code 1, starting it again in 100 ms\n";
  const std::vector<Case> cases = {
      {"nothing", "", ""},
      {"blank lines only", "\n \n", ""},
      {"init alone", init, init.substr(0, init.size() - 1)},
      {"a line and then init", "cannot open libfoo.so\n" + init + init, "cannot open libfoo.so"},
      {"the last of several lines", "first\nsecond\n" + init, "second"},
      {"a line that has not ended", "first\nsecond", "second"},
      {"an error with its reason",
       "old\nerror: cannot write 'x'\n  while: starting\n  why:   No space left\n  do:    make room\n" + init,
       "cannot write 'x': No space left"},
      {"an error without a reason", "error: no such flag\n  do:    see -h\n" + init, "no such flag"},
      {"details whose error was cut off", "  why:   because\n  do:    this\n", "do:    this"},
      {"a line after an error", "error: broken\n  why:   x\nrunning\n", "running"},
      {"control characters", "a\x1b[31mb\tc\n", "a?[31mb?c"},
      {"bytes that are no UTF-8", "a\xff\xfe\n", "a??"},
      {"too much of it", std::string(1000, 'x'), std::string(300, 'x')},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(last_words(c.console), c.words);
  }
}

TEST(Console, IsReadFromTheEndOfItsFile) {
  const auto directory = std::filesystem::temp_directory_path() / ("underway-console-" + std::to_string(::getpid()));
  std::filesystem::create_directories(directory);
  const std::string path = directory / "c1.log";
  EXPECT_EQ(last_words_in(path), "");
  std::string text;
  while (text.size() < 100'000) text += "one more line\n";
  os::write_file(path, text + "the last");
  EXPECT_EQ(last_words_in(path), "the last");
  os::write_file(path, std::string(10'000, 'x'));
  EXPECT_LE(last_words_in(path).size(), 300U);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace underway::host
