// What takes seconds, or is apt's.
#include <gmock/gmock.h>

#include "crypto/digest.hpp"
#include "fixture.hpp"

namespace underway::openpgp {
namespace {

using testing::HasSubstr;

TEST_F(OpenPgp, SignsARepositoryThatAptBelieves) {
  const auto key = signing_key();
  const std::string packages = "Package: x\nVersion: 1\nArchitecture: amd64\nFilename: x.deb\nSize: 1\nSHA256: 0\n\n";
  os::make_directories(at("repo/dists/tier/main/binary-amd64"));
  os::write_file(at("repo/dists/tier/main/binary-amd64/Packages"), packages);
  const auto digest = hex(crypto::sha256(packages));
  const std::string release =
      "Origin: x\nSuite: tier\nCodename: tier\nDate: Sun, 13 Sep 2020 12:26:40 UTC\nArchitectures: amd64\nComponents: "
      "main\n"
      "SHA256:\n " +
      digest + " " + std::to_string(packages.size()) + " main/binary-amd64/Packages\n";
  os::write_file(at("key.asc"), key.public_key());
  os::write_file(at("sources.list"),
                 "deb [arch=amd64 signed-by=" + at("key.asc") + "] file:" + at("repo") + " tier main\n");
  os::make_directories(at("apt/lists/partial"));
  os::make_directories(at("apt/cache/archives/partial"));
  const auto update = [&] {
    return shell("apt-get -q -o Dir::Etc::sourcelist=" + at("sources.list") +
                 " -o Dir::Etc::sourceparts=/dev/null -o Dir::State::Lists=" + at("apt/lists") +
                 " -o Dir::Cache=" + at("apt/cache") +
                 " -o Dir::State::status=/dev/null -o APT::Sandbox::User= -o Acquire::Languages=none "
                 "--error-on=any update");
  };
  os::write_file(at("repo/dists/tier/InRelease"), key.clearsign(release, kNow));
  const auto good = update();
  EXPECT_TRUE(good.status.success()) << good.out << good.err;
  auto changed = key.clearsign(release, kNow);
  changed.replace(changed.find("Origin: x"), 9, "Origin: y");
  os::write_file(at("repo/dists/tier/InRelease"), changed);
  EXPECT_THAT(update().err, HasSubstr("BADSIG"));
}

TEST_F(OpenPgp, SignsWithRsaWhereOldProgramsRead) {
  const auto key =
      SigningKey::create(at("ours"), {.user_id = "a <a@example.com>", .algorithm = Algorithm::rsa4096}, kNow);
  os::write_file(at("text"), key.clearsign("a\n", kNow));
  EXPECT_TRUE(gpgv(key.public_key(), "text"));
  os::write_file(at("key.asc"), key.public_key());
  EXPECT_THAT(gpg("--show-keys --with-colons key.asc"), HasSubstr("pub:-:4096:1:"));
}

}  // namespace
}  // namespace underway::openpgp
