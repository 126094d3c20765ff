// Functions that consul-template has and job templates here have not: each says what to use in its place.
#include "gotemplate/detail/library.hpp"

namespace underway::gotemplate::detail {

std::vector<Function> refused_functions() {
  struct Refused {
    std::string_view name;
    std::string_view instead;
  };
  constexpr std::string_view kVariables = "it reads Consul's keys; keep the data in a variable and use 'nomadVar'";
  constexpr std::string_view kServices = "it asks Consul; use 'nomadService' or 'nomadServices'";
  constexpr std::string_view kVault = "it reads Vault; keep the secret in a variable and use 'nomadVar'";
  constexpr std::string_view kPrograms = "templates run no programs; let a prestart task write the file";
  constexpr std::string_view kPrint = "it is for debugging; use 'printf \"%#v\"' or 'toJSONPretty'";
  constexpr Refused kAll[] = {
      {"key", kVariables},
      {"keyExists", "it reads Consul's keys; keep the data in a variable and use 'nomadVarExists'"},
      {"keyOrDefault", kVariables},
      {"ls", "it reads Consul's keys; use 'nomadVarList'"},
      {"safeLs", "it reads Consul's keys; use 'nomadVarListSafe'"},
      {"tree", "it reads Consul's keys; use 'nomadVarList'"},
      {"safeTree", "it reads Consul's keys; use 'nomadVarListSafe'"},
      {"byKey", "it sorts Consul's keys; use 'nomadVarList'"},
      {"byMeta", kServices},
      {"explode", "it takes Consul's keys; use 'explodeMap'"},
      {"service", kServices},
      {"services", kServices},
      {"connect", kServices},
      {"node", "it asks Consul; use 'env \"NOMAD_…\"' or ${node.…} and ${attr.…} of the job file"},
      {"nodes", "it asks Consul; use 'nomadService' for the addresses of a service"},
      {"peerings", kServices},
      {"datacenters", "it asks Consul; use 'env \"NOMAD_DC\"'"},
      {"caRoots", kVault},
      {"caLeaf", kVault},
      {"secret", kVault},
      {"secrets", kVault},
      {"pkiCert", kVault},
      {"plugin", kPrograms},
      {"writeToFile", "a template writes its own file only; use one template block for each file"},
      {"scratch", "use variables: '$x := …' and '$x = …'"},
      {"sockaddr", "use 'env \"NOMAD_IP_<label>\"' or 'env \"NOMAD_ADDR_<label>\"'"},
      {"spew_dump", kPrint},
      {"spew_printf", kPrint},
      {"spew_sdump", kPrint},
      {"spew_sprintf", kPrint},
  };
  std::vector<Function> functions;
  for (const auto& [name, instead] : kAll)
    functions.push_back({std::string(name), "", std::string(instead), Origin::refused});
  return functions;
}

}  // namespace underway::gotemplate::detail
