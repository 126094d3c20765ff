#include "mirror/program.hpp"

namespace underway::mirror {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<SyncRequest>) {
  static const Structure s = Builder<SyncRequest>("sync request", "What is to be synchronised.")
                                 .wire<&SyncRequest::mirror>("Mirror", "The mirror.")
                                 .wire<&SyncRequest::keys>("Keys", "Keys of which one has to have signed it.")
                                 .wire<&SyncRequest::pool>("Pool", "Directory of the pool.")
                                 .wire<&SyncRequest::homes>("Homes", "Directory for what gpg keeps.")
                                 .wire<&SyncRequest::before>("Before", "What it held before.")
                                 .wire<&SyncRequest::now>("Now", "The time, in nanoseconds since the epoch.")
                                 .done();
  return s;
}

const Structure& description(Tag<SyncProgress>) {
  static const Structure s = Builder<SyncProgress>("sync progress", "How far a synchronisation is.")
                                 .wire<&SyncProgress::what>("What", "What is being done.")
                                 .wire<&SyncProgress::bytes>("Bytes", "Bytes that have come.")
                                 .wire<&SyncProgress::of_bytes>("OfBytes", "Bytes that are to come in all.")
                                 .wire<&SyncProgress::files>("Files", "Files that have come.")
                                 .wire<&SyncProgress::of_files>("OfFiles", "Files that are to come in all.")
                                 .done();
  return s;
}

const Structure& description(Tag<SyncDone>) {
  static const Structure s = Builder<SyncDone>("sync done", "What a mirror holds now.")
                                 .wire<&SyncDone::view>("View", "All of it.")
                                 .wire<&SyncDone::changed>("Changed", "Whether it is another than before.")
                                 .wire<&SyncDone::files>("Files", "Packages that were fetched.")
                                 .wire<&SyncDone::bytes>("Bytes", "Their bytes.")
                                 .wire<&SyncDone::left>("Left", "Packages that are not taken.")
                                 .done();
  return s;
}

const Structure& description(Tag<SyncFailure>) {
  static const Structure s = Builder<SyncFailure>("sync failure", "Why a mirror is as it was.")
                                 .wire<&SyncFailure::code>("Code", "What kind of failure it is.")
                                 .wire<&SyncFailure::message>("Message", "What failed.")
                                 .wire<&SyncFailure::advice>("Advice", "What to do.")
                                 .wire<&SyncFailure::reasons>("Reasons", "Why.")
                                 .done();
  return s;
}

const Structure& description(Tag<SyncLine>) {
  static const Structure s = Builder<SyncLine>("sync line", "What a synchronisation says.")
                                 .wire<&SyncLine::progress>("Progress", "How far it is.")
                                 .wire<&SyncLine::done>("Done", "What there is now.")
                                 .wire<&SyncLine::failed>("Failed", "Why not.")
                                 .done();
  return s;
}

}  // namespace underway::mirror
