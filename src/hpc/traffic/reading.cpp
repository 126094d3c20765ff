#include "traffic/reading.hpp"

#include <algorithm>

#include "net/capture_file.hpp"

namespace underway::traffic {
namespace {

constexpr std::size_t kReadBatch = 256;

/// The front of a capture, held in memory until it is known which machine is surveyed.
class Front {
 public:
  static constexpr std::size_t kPackets = 100'000;
  static constexpr std::size_t kBytes = 32U << 20;

  bool full() const { return packets_.size() >= kPackets || bytes_.size() >= kBytes; }
  void keep(std::span<const net::Packet> packets) {
    for (const auto& packet : packets) {
      starts_.push_back(bytes_.size());
      bytes_.insert(bytes_.end(), packet.data, packet.data + packet.captured);
      packets_.push_back(packet);
    }
  }
  std::span<const net::Packet> packets() {
    for (std::size_t i = 0; i < packets_.size(); ++i) packets_[i].data = bytes_.data() + starts_[i];
    return packets_;
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::vector<std::size_t> starts_;
  std::vector<net::Packet> packets_;
};

template <class T>
void add_missing(std::vector<T>& to, const std::vector<T>& from) {
  for (const auto& element : from) {
    if (std::find(to.begin(), to.end(), element) == to.end()) to.push_back(element);
  }
}

void read_captures(const std::vector<std::string>& paths, const ReadOptions& options, Tally& tally,
                   JournalNotes& notes) {
  net::CaptureFiles files(paths);
  Front front;
  std::array<net::Packet, kReadBatch> batch;
  while (!front.full()) {
    const std::size_t count = files.next(batch);
    if (count == 0) break;
    front.keep(std::span(batch).first(count));
  }
  Surveyed surveyed = notes.surveyed;
  infer(surveyed, front.packets());
  Surveyor surveyor(surveyed, options.limits);
  std::swap(surveyor.tally(), tally);
  surveyor.add(front.packets());
  front = {};
  while (const std::size_t count = files.next(batch)) surveyor.add(std::span(batch).first(count));
  surveyor.end();
  std::swap(surveyor.tally(), tally);
  tally.seen().lost += files.lost();
  notes.surveyed = surveyor.surveyed();
  add_missing(notes.problems, files.problems());
  add_missing(notes.sources, paths);
}

}  // namespace

Traffic read_traffic(const std::vector<std::string>& paths, const ReadOptions& options) {
  Tally tally(options.limits.tally);
  JournalNotes notes;
  notes.surveyed = parse_surveyed(options.surveyed);
  std::vector<std::string> captures;
  for (const auto& path : paths) {
    if (is_journal(path))
      read_journal(path, tally, notes);
    else
      captures.push_back(path);
  }
  if (!captures.empty()) read_captures(captures, options, tally, notes);
  return make_traffic(tally, notes);
}

Traffic make_traffic(const Tally& tally, const JournalNotes& notes) {
  Traffic traffic = tally.to_traffic();
  traffic.sources = notes.sources;
  traffic.problems.insert(traffic.problems.end(), notes.problems.begin(), notes.problems.end());
  traffic.inferred = notes.surveyed.inferred;
  for (const auto mac : notes.surveyed.macs) traffic.surveyed_macs.push_back(mac_text(mac));
  auto addresses = notes.surveyed.addresses;
  std::sort(addresses.begin(), addresses.end());
  for (const auto& address : addresses) traffic.surveyed_addresses.push_back(to_string(address));
  for (const auto& network : notes.surveyed.networks) traffic.local_networks.push_back(net::to_string(network));
  for (auto& station : traffic.stations)
    station.surveyed = std::find(traffic.surveyed_macs.begin(), traffic.surveyed_macs.end(), station.mac) !=
                       traffic.surveyed_macs.end();
  return traffic;
}

}  // namespace underway::traffic
