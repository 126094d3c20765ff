#include "slurm/report_requests.hpp"

#include "model/slurm_report.hpp"
#include "slurm/reconcile/hold.hpp"
#include "tables/slurm_reports.hpp"

namespace underway::slurm {

using model::SlurmReport;
using server::Context;
using server::Decision;
using server::Nothing;
using tables::Tables;

namespace {

std::optional<SlurmReport> find_report(const Tables& tables, const Place& place) {
  return tables::find_record<SlurmReport>(tables, place.key());
}

/// As it is, or a new one.
SlurmReport report_about(const Tables& tables, const Place& place) {
  SlurmReport fresh;
  fresh.ns = place.allocation->ns;
  fresh.job = place.allocation->job_id;
  return find_report(tables, place).value_or(std::move(fresh));
}

Decision<Nothing> written_down(const SlurmReport& report) { return {{tables::put_record(report)}, {}}; }

}  // namespace

Decision<Nothing> decide(const Tables& tables, const NoteCutOff& request, const Context&) {
  auto report = report_about(tables, request.place);
  report.cut_off = request.nodes;
  return written_down(report);
}

Decision<Nothing> decide(const Tables& tables, const NoteNextJob& request, const Context&) {
  auto report = report_about(tables, request.place);
  report.job_bound = job_bound(request.next);
  return written_down(report);
}

Decision<Nothing> decide(const Tables& tables, const NoteComparison& request, const Context& context) {
  auto report = report_about(tables, request.place);
  report.boot = request.boot;
  report.findings.clear();
  report.cut_off.clear();  // it is as the site has it now
  report.at = unix_nanos(context.now);
  report.spared.clear();
  for (const auto& finding : request.findings) {
    using enum Finding::Kind;
    if (finding.kind != ended && finding.kind != returned) report.findings.push_back(finding.text);  // needs nobody
  }
  for (const auto& [_, jobs] : request.spare) report.spared.insert(report.spared.end(), jobs.begin(), jobs.end());
  return written_down(report);
}

Decision<Nothing> decide(const Tables& tables, const AddFindings& request, const Context&) {
  auto report = find_report(tables, request.place);
  if (!report) return {};
  report->findings.insert(report->findings.end(), request.texts.begin(), request.texts.end());
  return written_down(*report);
}

Decision<Nothing> decide(const Tables& tables, const NoteEnded& request, const Context&) {
  auto report = find_report(tables, request.place);
  if (!report) return {};
  for (const auto& [job, text] : request.told) {
    std::erase(report->spared, job);
    for (auto& finding : report->findings) {
      if (finding.starts_with("Slurm job " + job + " ")) finding = text;
    }
  }
  return written_down(*report);
}

}  // namespace underway::slurm
