#include "model/job/volume.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Enumeration& description(Tag<Propagation>) {
  static const Enumeration e = describe::enumeration<Propagation>(
      "propagation mode", {{Propagation::isolated, "private"}, {Propagation::host_to_task, "host-to-task"}});
  return e;
}

const Structure& description(Tag<MountOptions>) {
  static const Structure s =
      Builder<MountOptions>("mount_options", "How a volume that is no directory is mounted.")
          .attribute<&MountOptions::fs_type>("fs_type", "FSType", "The file system.")
          .attribute<&MountOptions::mount_flags>("mount_flags", "MountFlags", "Flags of mount(8).")
          .done();
  return s;
}

const Structure& description(Tag<VolumeRequest>) {
  static const Structure s =
      Builder<VolumeRequest>("volume", "A directory that outlives allocations, which the group's tasks may mount.")
          .label<&VolumeRequest::name>("name", "Name", "The group's name for it.")
          .attribute<&VolumeRequest::type>("type", "Type", "`host`: one of the node's own volumes.")
          .destructive()
          .attribute<&VolumeRequest::source>("source", "Source", "Name of the node's volume.")
          .destructive()
          .attribute<&VolumeRequest::read_only>("read_only", "ReadOnly", "Mounts it read-only everywhere.")
          .destructive()
          .attribute<&VolumeRequest::sticky>("sticky", "Sticky", "A replacement goes to where this volume is.")
          .destructive()
          .attribute<&VolumeRequest::per_alloc>("per_alloc", "PerAlloc",
                                                "Each allocation has a volume of its own: `source[0]`, `source[1]`, …")
          .destructive()
          .attribute<&VolumeRequest::access_mode>("access_mode", "AccessMode",
                                                  "`single-node-writer`, `single-node-multi-writer`, … as the volume "
                                                  "was made.")
          .destructive()
          .attribute<&VolumeRequest::attachment_mode>("attachment_mode", "AttachmentMode",
                                                      "`file-system` or `block-device`.")
          .destructive()
          .block<&VolumeRequest::mount_options>("mount_options", "MountOptions", "How it is mounted.")
          .destructive()
          .done();
  return s;
}

const Structure& description(Tag<VolumeMount>) {
  static const Structure s =
      Builder<VolumeMount>("volume_mount", "Mounts a volume of the group in the task.")
          .attribute<&VolumeMount::volume>("volume", "Volume", "The group's name for it.")
          .destructive()
          .attribute<&VolumeMount::destination>("destination", "Destination", "Where in the task.")
          .destructive()
          .attribute<&VolumeMount::read_only>("read_only", "ReadOnly", "Mounts it read-only.")
          .destructive()
          .attribute<&VolumeMount::propagation_mode>(
              "propagation_mode", "PropagationMode",
              "Whether later mounts below it are seen: `private`, `host-to-task`, `bidirectional`.")
          .destructive()
          .attribute<&VolumeMount::selinux_label>("selinux_label", "SELinuxLabel",
                                                  "Kept for podman, which relabels the volume: `z` or `Z`.")
          .destructive()
          .done();
  return s;
}

const Structure& description(Tag<HostVolumeCapability>) {
  static const Structure s =
      Builder<HostVolumeCapability>("capability", "How a volume may be used.")
          .attribute<&HostVolumeCapability::attachment_mode>("attachment_mode", "AttachmentMode", "`file-system`.")
          .attribute<&HostVolumeCapability::access_mode>(
              "access_mode", "AccessMode",
              "`single-node-reader-only`, `single-node-writer`, `single-node-single-writer` (one allocation at a time) "
              "or `single-node-multi-writer`.")
          .done();
  return s;
}

const Structure& description(Tag<NodeVolume>) {
  static const Structure s =
      Builder<NodeVolume>("host volume", "A directory that a node lends to tasks.")
          .wire<&NodeVolume::name>("Name", "The `source` of requests.")
          .wire<&NodeVolume::path>("Path", "Where it is on the node.")
          .wire<&NodeVolume::read_only>("ReadOnly", "Whether tasks may only read it.")
          .wire<&NodeVolume::id>("ID",
                                 "ID of the dynamic host volume that it is; empty: from the agent's configuration.")
          .wire<&NodeVolume::ns>("Namespace", "Namespace whose jobs may mount it; empty: any.")
          .wire<&NodeVolume::capabilities>("Capabilities", "How it may be used; none: in any way.")
          .done();
  return s;
}

}  // namespace underway::model
