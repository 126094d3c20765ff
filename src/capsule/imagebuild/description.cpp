// What the definition's blocks are called and mean: data for the decoder and for the reference.
#include "imagebuild/definition.hpp"

namespace underway::imagebuild {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Enumeration& description(Tag<Base>) {
  static const Enumeration e = describe::enumeration<Base>("base");
  return e;
}

const Structure& description(Tag<From>) {
  static const Structure s =
      Builder<From>("from",
                    "What lies at the bottom: `from debian \"bookworm\" { … }`, `from image \"base.capsule\" {}`.")
          .label<&From::base>("base", "Base",
                              "`debian`, `rpm`, `directory`, `image` (another capsule image), `oci` (a layout, as "
                              "directory or as archive) or `tar`.")
          .label<&From::source>("source", "Source", "Debian's suite, the release of an RPM distribution, or a path.")
          .attribute<&From::mirrors>("mirrors", "Mirrors",
                                     "debian, rpm: where packages come from: URLs, `file:///…` or directories. "
                                     "debian without: https://deb.debian.org/debian, or that of the snapshot.")
          .attribute<&From::components>("components", "Components", "debian: which parts of the mirrors.")
          .attribute<&From::snapshot>("snapshot", "Snapshot",
                                      "debian: the archive as it was at this time, `20241101T000000Z`, from "
                                      "snapshot.debian.org or from `mirrors`; `{snapshot}` in those stands for it.")
          .attribute<&From::keyring>("keyring", "Keyring",
                                     "debian, rpm: whose signatures are accepted; debian without: those of Debian.")
          .attribute<&From::trusted>("trusted", "Trusted", "debian, rpm: packages of the mirrors are taken unsigned.")
          .attribute<&From::variant>("variant", "Variant",
                                     "debian: what is there before `packages`, as mmdebstrap calls it: `minbase`, "
                                     "`essential`, `custom` (nothing), `extract` (nothing is configured), ….")
          .attribute<&From::digest>("digest", "Digest",
                                    "image: which image it must be; one that is named so needs no trusted key.")
          .attribute<&From::tag>("tag", "Tag", "oci: which of its images; not needed when there is only one.")
          .attribute<&From::strip>("strip", "Strip", "tar: how many leading directories of each path are dropped.")
          .done();
  return s;
}

const Structure& description(Tag<Repository>) {
  static const Structure s =
      Builder<Repository>("repository", "A further source of packages, for `from debian` and for `from image`.")
          .label<&Repository::name>("name", "Name", "For people.")
          .attribute<&Repository::url>("url", "URL", "A URL, `file:///…` or a directory.")
          .required()
          .attribute<&Repository::suite>("suite", "Suite", "A suite, or a directory below the URL: ends in `/`.")
          .attribute<&Repository::components>("components", "Components", "Components of a suite.")
          .attribute<&Repository::keyring>("keyring", "Keyring", "Whose signatures are accepted.")
          .attribute<&Repository::trusted>("trusted", "Trusted", "Packages are taken without a signature.")
          .done();
  return s;
}

const Structure& description(Tag<File>) {
  static const Structure s =
      Builder<File>("file", "A file that is put into the image.")
          .label<&File::path>("path", "Path", "Where, in the image.")
          .attribute<&File::content>("content", "Content", "What is in it.")
          .attribute<&File::source>("source", "Source", "Or: the file to copy.")
          .attribute<&File::mode>("mode", "Mode", "Its mode, octal; without: that of `source`, or `0644`.")
          .attribute<&File::user>("user", "User", "Its owner: a user of the image, or a number.")
          .attribute<&File::group>("group", "Group", "Its group; without: the user's.")
          .done();
  return s;
}

const Structure& description(Tag<Directory>) {
  static const Structure s =
      Builder<Directory>("directory", "A directory of the image; one that is there gets the mode and the owner.")
          .label<&Directory::path>("path", "Path", "Where, in the image.")
          .attribute<&Directory::mode>("mode", "Mode", "Its mode, octal.")
          .attribute<&Directory::user>("user", "User", "Its owner.")
          .attribute<&Directory::group>("group", "Group", "Its group; without: the user's.")
          .done();
  return s;
}

const Structure& description(Tag<Link>) {
  static const Structure s = Builder<Link>("link", "A symbolic link in the image; it replaces what is there.")
                                 .label<&Link::path>("path", "Path", "Where, in the image.")
                                 .attribute<&Link::target>("target", "Target", "Where it points to.")
                                 .required()
                                 .done();
  return s;
}

const Structure& description(Tag<Definition>) {
  static const Structure s =
      Builder<Definition>("image", "An image: what goes into it and what runs in it.")
          .label<&Definition::name>("name", "Name", "Its name: at most 63 of a-z, 0-9, `.`, `_`, `-`.")
          .attribute<&Definition::version>("version", "Version",
                                           "Its version; `{slurmctld}` stands for the version of that package.")
          .required()
          .attribute<&Definition::description>("description", "Description", "For people.")
          .attribute<&Definition::architecture>("architecture", "Architecture",
                                                "As Debian calls it; without: that of the machine that builds.")
          .attribute<&Definition::created>("created", "Created",
                                           "The date that all files get: `2024-11-01T00:00:00Z`. Without: "
                                           "SOURCE_DATE_EPOCH, else the snapshot's, else the base image's, else "
                                           "2000-01-01. Never the clock.")
          .attribute<&Definition::size_limit>("size_limit", "SizeLimit",
                                              "What the image's file may have: `200M`; a larger one is not made.")
          .block<&Definition::from>("from", "From", "What lies at the bottom.")
          .required()
          .block<&Definition::repositories>("repository", "Repositories", "Further sources of packages.")
          .attribute<&Definition::packages>("packages", "Packages", "Packages to install: `munge`, `munge=0.5.15-2`.")
          .attribute<&Definition::recommends>("recommends", "Recommends",
                                              "Whether packages that others recommend are installed too.")
          .block<&Definition::directories>("directory", "Directories", "Directories to make.")
          .block<&Definition::files>("file", "Files", "Files to add.")
          .block<&Definition::links>("link", "Links", "Symbolic links to add.")
          .attribute<&Definition::remove>("remove", "Remove",
                                          "Paths to remove, with all below them; `*` stands for any part of one name.")
          .block<&Definition::services>("service", "Services", "What runs in it.")
          .block<&Definition::steps>("step", "Steps", "Commands that are run at moments of its life.")
          .block<&Definition::networks>("network", "Networks", "Networks that it wants to join.")
          .attribute<&Definition::writable>("writable", "Writable", "Paths that its services write to, for people.")
          .done();
  return s;
}

}  // namespace underway::imagebuild
