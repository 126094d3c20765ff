// How the programs are linked: they run as root and read what strangers send. The flags stand in cmake/Compiler.cmake;
// that they arrive, a program of its own link line included, only the program can tell.
#include <elf.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/places.hpp"

namespace underway::harness {
namespace {

class Program {
 public:
  explicit Program(const std::string& path) : file_(path, std::ios::binary) {}

  Elf64_Ehdr header() const { return at<Elf64_Ehdr>(0); }
  std::vector<Elf64_Phdr> segments(Elf64_Word type) const {
    std::vector<Elf64_Phdr> found;
    for (int i = 0; i < header().e_phnum; ++i) {
      const auto segment = at<Elf64_Phdr>(header().e_phoff + static_cast<std::size_t>(i) * sizeof(Elf64_Phdr));
      if (segment.p_type == type) found.push_back(segment);
    }
    return found;
  }
  Elf64_Xword dynamic(Elf64_Sxword tag) const {
    for (const auto& segment : segments(PT_DYNAMIC)) {
      for (std::size_t offset = 0; offset < segment.p_filesz; offset += sizeof(Elf64_Dyn)) {
        const auto entry = at<Elf64_Dyn>(segment.p_offset + offset);
        if (entry.d_tag == tag) return entry.d_un.d_val;
      }
    }
    return 0;
  }

 private:
  template <class T>
  T at(std::size_t offset) const {
    T value{};
    file_.seekg(static_cast<std::streamoff>(offset));
    file_.read(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }
  mutable std::ifstream file_;
};

std::string path_of(const std::string& name) { return binary_dir() + "/bin/" + name; }

TEST(Programs, ChooseTheirAddressesAndCloseTheirTables) {
  for (const char* name : {"underway", "underway-keeper", "underway-fetch", "underway-pull", "underway-init",
                           "underway-capsule-init", "underway-identify"}) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(std::filesystem::exists(path_of(name)));
    const Program program(path_of(name));
    EXPECT_EQ(program.header().e_type, ET_DYN) << "not position independent";
    EXPECT_TRUE(program.dynamic(DT_FLAGS_1) & DF_1_PIE) << "a library, not a program";
    EXPECT_TRUE((program.dynamic(DT_FLAGS) & DF_BIND_NOW) || (program.dynamic(DT_FLAGS_1) & DF_1_NOW))
        << "its functions are bound when they are called: the table stays writable";
    EXPECT_EQ(program.segments(PT_GNU_RELRO).size(), 1U) << "its tables stay writable";
    const auto stack = program.segments(PT_GNU_STACK);
    ASSERT_EQ(stack.size(), 1U) << "the kernel makes its stack executable";
    EXPECT_FALSE(stack[0].p_flags & PF_X) << "its stack is executable";
    for (const auto& segment : program.segments(PT_LOAD))
      EXPECT_NE(segment.p_flags & (PF_W | PF_X), PF_W | PF_X) << "a part of it is writable and executable";
  }
}

// They run in roots that are not this machine's.
TEST(Programs, ThatEnterOtherRootsNeedNothingOfThem) {
  for (const char* name : {"underway-keeper", "underway-init", "underway-capsule-init", "underway-identify"}) {
    SCOPED_TRACE(name);
    const Program program(path_of(name));
    EXPECT_TRUE(program.segments(PT_INTERP).empty());
    EXPECT_EQ(program.dynamic(DT_NEEDED), 0U);
  }
}

}  // namespace
}  // namespace underway::harness
