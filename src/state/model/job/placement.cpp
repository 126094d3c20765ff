#include "model/job/placement.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Enumeration& description(Tag<NumaAffinity>) {
  static const Enumeration e = describe::enumeration<NumaAffinity>("numa affinity");
  return e;
}

const Structure& description(Tag<Constraint>) {
  static const Structure s =
      Builder<Constraint>("constraint", "Restricts the nodes on which a job, group or task may be placed.")
          .attribute<&Constraint::ltarget>("attribute", "LTarget",
                                           "The node's property, as `${attr.…}`, `${meta.…}` or `${node.…}`.")
          .attribute<&Constraint::rtarget>("value", "RTarget", "What it is compared with.")
          .attribute<&Constraint::operand>("operator", "Operand", "The comparison; `=` when not given.")
          .done();
  return s;
}

const Structure& description(Tag<Affinity>) {
  static const Structure s =
      Builder<Affinity>("affinity", "Prefers the nodes on which a comparison holds, or avoids them.")
          .attribute<&Affinity::ltarget>("attribute", "LTarget",
                                         "The node's property, as `${attr.…}`, `${meta.…}` or `${node.…}`.")
          .attribute<&Affinity::rtarget>("value", "RTarget", "What it is compared with.")
          .attribute<&Affinity::operand>("operator", "Operand", "The comparison; `=` when not given.")
          .attribute<&Affinity::weight>("weight", "Weight", "-100 to 100, not 0; below 0 it repels.")
          .done();
  return s;
}

const Structure& description(Tag<SpreadTarget>) {
  static const Structure s =
      Builder<SpreadTarget>("target", "A value of the spread's attribute, and its share.")
          .label<&SpreadTarget::value>("value", "Value", "The value.")
          .attribute<&SpreadTarget::percent>("percent", "Percent", "Percent of the group's allocations.")
          .done();
  return s;
}

const Structure& description(Tag<Spread>) {
  static const Structure s =
      Builder<Spread>("spread", "Shares allocations out over the values of a node's property.")
          .attribute<&Spread::attribute>("attribute", "Attribute", "The property, as `${node.datacenter}`.")
          .attribute<&Spread::weight>("weight", "Weight", "How much it counts beside other spreads, 1 to 100.")
          .block<&Spread::targets>("target", "SpreadTarget", "The shares of single values; without any: evenly.")
          .attribute<&Spread::across_groups>(
              "across_groups", "AcrossGroups",
              "Of a job: whether the allocations of all its groups are shared out "
              "together, and not those of each group by themselves; machines of a pool always are.")
          .done();
  return s;
}

const Structure& description(Tag<RequestedDevice>) {
  static const Structure s =
      Builder<RequestedDevice>("device", "Devices that the task holds alone, as GPUs.")
          .label<&RequestedDevice::name>("name", "Name", "`type`, `vendor/type` or `vendor/type/model`.")
          .attribute<&RequestedDevice::count>("count", "Count", "How many.")
          .destructive()
          .block<&RequestedDevice::constraints>("constraint", "Constraints", "Which, by `${device.attr.…}`.")
          .destructive()
          .block<&RequestedDevice::affinities>("affinity", "Affinities", "Which rather, by `${device.attr.…}`.")
          .destructive()
          .done();
  return s;
}

const Structure& description(Tag<Numa>) {
  static const Structure s =
      Builder<Numa>("numa", "How a task's `cores` lie in the machine.")
          .attribute<&Numa::affinity>("affinity", "Affinity",
                                      "`none`; `prefer` or `require` cores of a single NUMA node.")
          .destructive()
          .attribute<&Numa::devices>("devices", "Devices", "Names of devices that shall lie at the same NUMA node.")
          .destructive()
          .done();
  return s;
}

}  // namespace underway::model
