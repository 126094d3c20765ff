#include "jobspec/jobspec.hpp"

#include <algorithm>
#include <random>

#include "base/text.hpp"

namespace underway::jobspec {
namespace {

using describe::Form;
using describe::Kind;
using describe::Structure;
using describe::Type;

/// Draws jobs that use every field which a file can hold, with texts that try to break quoting.
class JobMaker {
 public:
  explicit JobMaker(std::uint64_t seed) : random_(seed) {}

  model::Job make() {
    model::Job job;
    fill(describe::structure_of<model::Job>(), &job);
    job.id = "job";
    for (auto& group : job.groups) {
      for (auto& network : group.networks) {
        for (std::uint64_t i = below(3); i > 0; --i) {
          network.reserved_ports.emplace_back();
          fill(describe::structure_of<model::Port>(), &network.reserved_ports.back());
        }
        for (std::uint64_t i = below(3); i > 0; --i) {
          network.dynamic_ports.emplace_back();
          fill(describe::structure_of<model::Port>(), &network.dynamic_ports.back());
          network.dynamic_ports.back().value = 0;
        }
      }
    }
    settle(job);
    job.canonicalize();
    return job;
  }

 private:
  /// What one field says about another.
  static void settle(model::Job& job) {
    for (auto& group : job.groups) {
      std::map<std::string, model::VolumeRequest> volumes;
      for (auto& [key, volume] : group.volumes) volumes[volume.name] = volume;
      group.volumes = std::move(volumes);
      for (auto& task : group.tasks) {
        if (task.resources.cores > 0) task.resources.cpu = 0;
      }
    }
  }

  void fill(const Structure& structure, void* object) {
    for (const auto& field : structure.fields) {
      if (field.form != Form::wire && (field.required || below(2) == 0)) fill(*field.type, field.get(object));
    }
  }

  void fill(const Type& type, void* value) {
    switch (type.kind) {
      case Kind::boolean:
        *static_cast<bool*>(value) = below(2) == 0;
        return;
      case Kind::integer:
        *static_cast<std::int64_t*>(value) = 1 + static_cast<std::int64_t>(below(1'000'000));
        return;
      case Kind::number:
        *static_cast<double*>(value) = static_cast<double>(below(1000)) / 8;
        return;
      case Kind::string:
        *static_cast<std::string*>(value) = text();
        return;
      case Kind::duration:
        *static_cast<Duration*>(value) = Duration{static_cast<std::int64_t>(below(10'000'000'000'000))};
        return;
      case Kind::enumeration: {
        const auto& values = type.enumeration().values;
        type.enumeration().set(value, values[below(values.size())].value);
        return;
      }
      case Kind::any:
        *static_cast<boost::json::value*>(value) = config();
        return;
      case Kind::optional:
        fill(*type.element, type.append(value));
        return;
      case Kind::list:
        for (std::uint64_t i = below(3); i > 0; --i) fill(*type.element, type.append(value));
        return;
      case Kind::map:
        for (std::uint64_t i = below(3); i > 0; --i) fill(*type.element, type.insert(value, text()));
        return;
      case Kind::structure:
        fill(type.structure(), value);
        return;
    }
  }

  boost::json::value config() {
    boost::json::object object;
    for (std::uint64_t i = below(4); i > 0; --i) object[text()] = json(0);
    return object;
  }

  boost::json::value json(int depth) {
    switch (below(depth < 3 ? 7 : 5)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2:
        return static_cast<std::int64_t>(below(1000)) - 500;
      case 3:
        return static_cast<double>(below(1000)) + 0.5;
      case 4:
        return boost::json::value(text());
      case 5: {
        boost::json::array array;
        for (std::uint64_t i = below(3); i > 0; --i) array.push_back(json(depth + 1));
        return array;
      }
      default: {
        boost::json::object object;
        for (std::uint64_t i = below(3); i > 0; --i) object[text()] = json(depth + 1);
        return object;
      }
    }
  }

  std::string text() {
    static const char* const kPieces[] = {"a",  "B-c",      "_9",          " ",     "\"",          "\\",
                                          "$",  "${",       "%{",          "}",     "$${",         "%%",
                                          "\n", "\t",       "\r",          "é",     "${attr.a.b}", "${NOMAD_PORT_x}",
                                          "~",  "EOT\n",    "#",           "<<EOT", "\x01",        "/",
                                          "*/", "${var.x}", "${ attr.x }", "=",     "\n\n"};
    std::string out;
    for (std::uint64_t i = below(6); i > 0; --i) out += kPieces[below(std::size(kPieces))];
    return out;
  }

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  std::mt19937_64 random_;
};

TEST(WriteJob, GivesBackTheJobThatWasWritten) {
  Inputs inputs;
  inputs.validate = false;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const model::Job job = JobMaker(seed).make();
    const std::string text = write_job(job);
    const auto parsed = parse_job(text, "job.hcl", inputs);
    ASSERT_TRUE(parsed.job) << text << parsed.diagnostics.render();
    ASSERT_TRUE(describe::equal(*parsed.job, job)) << text << write_job(*parsed.job);
    ASSERT_EQ(write_job(*parsed.job), text);
  }
}

/// No field that a reader does not know.
std::vector<std::string> left_in(const model::Job& job) {
  std::vector<std::string> out;
  if (!job.meta.empty() || !job.constraints.empty() || job.ui) out.emplace_back("job");
  for (const auto& group : job.groups) {
    if (!group.meta.empty() || !group.constraints.empty()) out.push_back(group.name);
    for (const auto& task : group.tasks) {
      const auto* config = task.config.if_object();
      const bool keyed = config != nullptr && std::any_of(config->begin(), config->end(), [](const auto& member) {
                           return member.key().size() % 2 == 0;
                         });
      if (!task.meta.empty() || !task.constraints.empty() || keyed) out.push_back(group.name + "." + task.name);
      for (const auto& written : task.templates) {
        if (!written.data.empty()) out.push_back(written.destination);
      }
    }
  }
  return out;
}

TEST(WriteJob, LeavesOutAsAWholeCommentWhatItsReaderDoesNotKnow) {
  const WriteOptions options{
      .knows =
          [](const Structure&, const describe::Field& field) {
            return field.hcl != "meta" && field.hcl != "constraint" && field.hcl != "ui" && field.hcl != "data";
          },
      .knows_config = [](const std::string&, std::string_view key) { return key.size() % 2 == 1; }};
  Inputs inputs;
  inputs.validate = false;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    const auto written = write_job(JobMaker(seed).make(), options);
    const auto parsed = parse_job(written.text, "job.hcl", inputs);
    ASSERT_TRUE(parsed.job) << written.text << parsed.diagnostics.render();
    ASSERT_EQ(left_in(*parsed.job), std::vector<std::string>{}) << written.text;
    const auto lines = split(written.text, '\n');
    for (const auto& left : written.left_out) {
      ASSERT_TRUE(lines.at(left.line - 1).starts_with("#")) << left.name << " at " << left.line << "\n" << written.text;
    }
  }
}

TEST(WriteJob, WritesWhatAPersonWouldHaveWritten) {
  const std::string text =
      "job \"slurm-ctl\" {\n"
      "  priority = 95\n"
      "  datacenters = [\"dc1\"]\n"
      "  constraint {\n"
      "    attribute = \"${attr.unique.hostname}\"\n"
      "    value = \"mgmt\"\n"
      "  }\n"
      "  group \"slurm-ctl\" {\n"
      "    network {\n"
      "      port \"slurmctl\" {\n"
      "        static = 6817\n"
      "      }\n"
      "    }\n"
      "    restart {\n"
      "      attempts = 5\n"
      "    }\n"
      "    task \"slurmctld\" {\n"
      "      driver = \"raw_exec\"\n"
      "      user = \"root\"\n"
      "      config {\n"
      "        args = [\"-D\", \"$${x}\"]\n"
      "        command = \"/usr/sbin/slurmctld\"\n"
      "      }\n"
      "      env = {\n"
      "        \"odd.key\" = \"1\"\n"
      "      }\n"
      "      template {\n"
      "        destination = \"local/slurm.conf\"\n"
      "        data = <<EOT\n"
      "ClusterName=hpc\n"
      "NodeName=${attr.unique.hostname}\n"
      "EOT\n"
      "      }\n"
      "      identity {\n"
      "        env = true\n"
      "      }\n"
      "    }\n"
      "  }\n"
      "}\n";
  const auto parsed = parse_job(text, "job.hcl");
  ASSERT_TRUE(parsed.job) << parsed.diagnostics.render();
  EXPECT_EQ(write_job(*parsed.job), text);
}

}  // namespace
}  // namespace underway::jobspec
