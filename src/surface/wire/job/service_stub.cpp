#include "wire/job/service_stub.hpp"

namespace underway::wire {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<ServiceStub>) {
  static const Structure s = Builder<ServiceStub>("service stub", "A service in a list.")
                                 .wire<&ServiceStub::name>("ServiceName", "Name of the service.")
                                 .wire<&ServiceStub::tags>("Tags", "The tags of all its instances, each once.")
                                 .done();
  return s;
}

const Structure& description(Tag<ServiceListStub>) {
  static const Structure s = Builder<ServiceListStub>("service list", "The services of a namespace.")
                                 .wire<&ServiceListStub::ns>("Namespace", "Name of the namespace.")
                                 .wire<&ServiceListStub::services>("Services", "The services that are provided in it.")
                                 .done();
  return s;
}

}  // namespace underway::wire
