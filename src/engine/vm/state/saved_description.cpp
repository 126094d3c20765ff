#include "vm/state/saved.hpp"

namespace underway::vm {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<SavedDisk>) {
  static const Structure s = Builder<SavedDisk>("disk", "A disk as it was when the machine fell asleep.")
                                 .wire<&SavedDisk::name>("Name", "Its node in QEMU.")
                                 .wire<&SavedDisk::file>("File", "Where it lies.")
                                 .wire<&SavedDisk::bytes>("Bytes", "Size of the file.")
                                 .wire<&SavedDisk::changed>("Changed", "When the file was last written to.")
                                 .time()
                                 .done();
  return s;
}

const Structure& description(Tag<Saved>) {
  static const Structure s = Builder<Saved>("saved", "What is kept of a machine that sleeps.")
                                 .wire<&Saved::id>("ID", "Its own.")
                                 .wire<&Saved::machine>("Machine", "The machine that it is of.")
                                 .wire<&Saved::qemu>("QEMU", "Version of the QEMU that wrote it.")
                                 .wire<&Saved::created>("Created", "When that was.")
                                 .time()
                                 .wire<&Saved::memory>("Memory", "File with memory and devices, beside this one; zstd.")
                                 .wire<&Saved::raw_bytes>("RawBytes", "Its size when unpacked.")
                                 .wire<&Saved::stored_bytes>("StoredBytes", "Its size.")
                                 .wire<&Saved::sha256>("SHA256", "Digest of the file as it lies there.")
                                 .wire<&Saved::disks>("Disks", "Disks that the guest may write to, as they were.")
                                 .wire<&Saved::running>("Running", "Whether it ran then, and does when it wakes.")
                                 .done();
  return s;
}

}  // namespace underway::vm
