#pragma once
/// @file
/// The catalog of services: what stands behind a port, a program or a payload on a cluster's management server, and
/// which of it waits for a person anyway. It knows what HPC sites run; /etc/services knows the rest.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underway::adoption {

/// At whose discretion a service is asked, whoever opens the connection.
enum class Discretion {
  none,          ///< programs ask when they need it
  provisioning,  ///< nodes ask when an administrator starts or installs them
  files,         ///< nodes ask by the clock, and get something new when an administrator changed a file
  people,        ///< somebody sits at a keyboard
};

struct KnownService {
  std::string_view name;   ///< "slurm"
  std::string_view title;  ///< "Slurm"
  Discretion discretion = Discretion::none;
  std::vector<std::string_view> doors;         ///< "tcp/6817"
  std::vector<std::string_view> programs;      ///< "slurmctld"; and names of units
  std::vector<std::string_view> applications;  ///< what the payload looks like, as ServiceFlow::application
  std::vector<std::string_view> hints;         ///< parts of ServiceFlow::hints
  std::string_view advice;                     ///< eliminate it, or change it, rather than move it; may be empty
};

class ServiceCatalog {
 public:
  /// The built-in table, and `etc_services`: the text of services(5), may be empty.
  explicit ServiceCatalog(std::string_view etc_services = {});

  static const std::vector<KnownService>& table();
  static const KnownService* find(std::string_view name);

  /// By the executable's name, or else by the unit's: "postfix.service" starts many programs.
  const KnownService* find_program(std::string_view program, std::string_view unit = {}) const;
  const KnownService* find_door(std::string_view door) const;
  const KnownService* find_application(std::string_view application) const;
  /// By the words of the payload ("GET /WW/file"); the longest part that fits counts.
  const KnownService* find_hint(std::string_view hint) const;
  /// A name for a door that the table does not know, from services(5): "rfb". Empty: none.
  std::string name_of_door(std::string_view door) const;

 private:
  std::map<std::string, std::string, std::less<>> etc_services_;
};

/// Whether the program is a part of every machine (init, journal, bus) and no service of this one.
bool is_base_program(std::string_view executable, std::string_view name);

}  // namespace underway::adoption
