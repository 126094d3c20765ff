// Where values of variables come from.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "cli/context.hpp"
#include "os/file.hpp"

namespace underway::cli {
namespace {

class Variables : public testing::Test {
 protected:
  Variables() { ::setenv("NOMAD_VAR_words", "from the environment", 1); }
  ~Variables() override {
    ::unsetenv("NOMAD_VAR_words");
    std::filesystem::remove(file_);
  }

  /// As the job has it that is read with these words on the command line.
  std::string words(const std::vector<std::string>& flags) const {
    os::write_file(file_, R"(variable "words" {
  default = "from the file"
}
job "j" {
  meta {
    words = var.words
  }
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/true"
      }
    }
  }
}
)");
    const Command command{.name = "job plan", .flags = with_variable_flags({}), .most = 1};
    return load_job(file_, parse(command, flags)).job.meta.at("words");
  }

  const std::string file_ = "/tmp/underway-variables-" + std::to_string(::getpid()) + ".nomad.hcl";
};

TEST_F(Variables, AreTakenFromTheEnvironment) {
  EXPECT_EQ(words({}), "from the environment");
  ::unsetenv("NOMAD_VAR_words");
  EXPECT_EQ(words({}), "from the file");
}

TEST_F(Variables, OnTheCommandLineGoBefore) { EXPECT_EQ(words({"-var", "words=said"}), "said"); }

}  // namespace
}  // namespace underway::cli
