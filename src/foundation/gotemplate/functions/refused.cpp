// Functions that consul-template and Sprig have and templates here have not: each says what to use in its place.
#include "gotemplate/functions/library.hpp"

namespace underway::gotemplate {

namespace {

struct Refused {
  std::string_view name;
  std::string_view instead;
};

std::vector<Function> refused(std::span<const Refused> all) {
  std::vector<Function> functions;
  for (const auto& [name, instead] : all)
    functions.push_back({std::string(name), "", std::string(instead), Origin::refused});
  return functions;
}

}  // namespace

std::vector<Function> refused_functions() {
  constexpr std::string_view kServices = "it asks Consul; use 'service', 'services', 'nomadService' or 'nomadServices'";
  constexpr std::string_view kVault =
      "a template keeps no certificates; use 'secret' with the path and the names of the certificate";
  constexpr std::string_view kPrograms = "templates run no programs; let a prestart task write the file";
  constexpr std::string_view kPrint = "it is for debugging; use 'printf \"%#v\"' or 'toJSONPretty'";
  constexpr Refused kAll[] = {
      {"connect", kServices},
      {"node", "it asks Consul; use 'env \"NOMAD_…\"' or ${node.…} and ${attr.…} of the job file"},
      {"nodes", "it asks Consul; use 'nomadService' for the addresses of a service"},
      {"peerings", kServices},
      {"datacenters", "it asks Consul; use 'env \"NOMAD_DC\"'"},
      {"caRoots", kServices},
      {"caLeaf", kServices},
      {"pkiCert", kVault},
      {"plugin", kPrograms},
      {"writeToFile", "a template writes its own file only; use one template block for each file"},
      {"sockaddr", "use 'env \"NOMAD_IP_<label>\"' or 'env \"NOMAD_ADDR_<label>\"'"},
      {"spew_dump", kPrint},
      {"spew_printf", kPrint},
      {"spew_sdump", kPrint},
      {"spew_sprintf", kPrint},
  };
  return refused(kAll);
}

std::vector<Function> refused_sprig_functions() {
  constexpr std::string_view kRandom =
      "each rendering would make another one, and change the file; keep a value that was made once in a variable";
  constexpr std::string_view kKey =
      "a key is made once and kept: make it with a program, and keep it in a variable or a file";
  constexpr std::string_view kSlow = "it takes seconds by design, on each rendering; keep what it makes in a variable";
  constexpr std::string_view kCipher = "its cipher has no integrity; variables are encrypted where they are kept";
  constexpr std::string_view kAgent = "it reads the environment of the agent, which is not the task's; use 'env'";
  constexpr Refused kAll[] = {
      {"randAlphaNum", kRandom},
      {"randAlpha", kRandom},
      {"randAscii", kRandom},
      {"randNumeric", kRandom},
      {"randBytes", kRandom},
      {"randInt", kRandom},
      {"shuffle", kRandom},
      {"uuidv4", kRandom},
      {"bcrypt", kSlow},
      {"htpasswd", kSlow},
      {"derivePassword", kSlow},
      {"genPrivateKey", kKey},
      {"buildCustomCert", kKey},
      {"genCA", kKey},
      {"genCAWithKey", kKey},
      {"genSelfSignedCert", kKey},
      {"genSelfSignedCertWithKey", kKey},
      {"genSignedCert", kKey},
      {"genSignedCertWithKey", kKey},
      {"encryptAES", kCipher},
      {"decryptAES", kCipher},
      {"env", kAgent},
      {"expandenv", kAgent},
      {"getHostByName", "a rendering waits for no network; use 'nomadService' or the address itself"},
  };
  return refused(kAll);
}

}  // namespace underway::gotemplate
