#include "protocol/volume_messages.hpp"

namespace underway::protocol {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<VolumeOrder>) {
  static const Structure s =
      Builder<VolumeOrder>("volume order", "A volume that the node shall have.")
          .wire<&VolumeOrder::id>("ID", "UUID of the volume.")
          .wire<&VolumeOrder::name>("Name", "The `source` of requests; unique on the node.")
          .wire<&VolumeOrder::ns>("Namespace", "Namespace whose jobs may mount it.")
          .wire<&VolumeOrder::plugin>(
              "PluginID", "What makes it: `mkdir`, or a plugin of the node; empty: it is there and only registered.")
          .wire<&VolumeOrder::node_pool>("NodePool", "Node pool of the node, told to the plugin.")
          .wire<&VolumeOrder::capacity_min>("CapacityMin", "Bytes that it shall have at least; 0: the plugin's choice.")
          .wire<&VolumeOrder::capacity_max>("CapacityMax", "Bytes that it may have at most; 0: the plugin's choice.")
          .wire<&VolumeOrder::parameters>("Parameters", "The plugin's own.")
          .wire<&VolumeOrder::path>("Path", "Where it is, of one that is registered; else empty.")
          .done();
  return s;
}

const Structure& description(Tag<VolumeMade>) {
  static const Structure s = Builder<VolumeMade>("volume made", "Where the volume is, and how large.")
                                 .wire<&VolumeMade::path>("Path", "Where it is on the node.")
                                 .wire<&VolumeMade::bytes>("Bytes", "How large it is; 0: that is not limited.")
                                 .done();
  return s;
}

}  // namespace underway::protocol
