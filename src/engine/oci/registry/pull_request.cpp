#include "oci/registry/pull_request.hpp"

namespace underway::oci {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<PullLimits>) {
  static const Structure s = Builder<PullLimits>("limits", "What is taken from strangers.")
                                 .wire<&PullLimits::document_bytes>("DocumentBytes", "Of a manifest.")
                                 .wire<&PullLimits::layers>("Layers", "Of an image.")
                                 .wire<&PullLimits::layer_bytes>("LayerBytes", "Packed.")
                                 .wire<&PullLimits::unpacked_bytes>("UnpackedBytes", "Of all layers.")
                                 .wire<&PullLimits::entries>("Entries", "Of all layers.")
                                 .wire<&PullLimits::ratio>("Ratio", "Unpacked to packed bytes.")
                                 .wire<&PullLimits::ratio_from>("RatioFrom", "Unpacked bytes.")
                                 .done();
  return s;
}

const Structure& description(Tag<PullTimeouts>) {
  static const Structure s = Builder<PullTimeouts>("patience", "With a registry.")
                                 .wire<&PullTimeouts::attempts>("Attempts", "Without progress.")
                                 .wire<&PullTimeouts::back_off>("BackOff", "The first.")
                                 .wire<&PullTimeouts::longest_back_off>("LongestBackOff", "The last.")
                                 .wire<&PullTimeouts::connect>("Connect", "Until connected.")
                                 .wire<&PullTimeouts::stall>("Stall", "Too slow for so long.")
                                 .wire<&PullTimeouts::stall_bytes>("StallBytes", "A second.")
                                 .done();
  return s;
}

const Structure& description(Tag<Credentials>) {
  static const Structure s = Builder<Credentials>("credentials", "Who pulls.")
                                 .wire<&Credentials::username>("Username", "Name.")
                                 .wire<&Credentials::password>("Password", "Password.")
                                 .wire<&Credentials::identity_token>("IdentityToken", "A refresh token.")
                                 .done();
  return s;
}

const Structure& description(Tag<PullRequest>) {
  static const Structure s = Builder<PullRequest>("pull", "What underway-pull is to pull.")
                                 .wire<&PullRequest::store>("Store", "Directory.")
                                 .wire<&PullRequest::reference>("Reference", "The image.")
                                 .wire<&PullRequest::lease>("Lease", "What protects it.")
                                 .wire<&PullRequest::credentials>("Credentials", "Who pulls.")
                                 .wire<&PullRequest::tls_verify>("TLSVerify", "Whether the registry must prove itself.")
                                 .wire<&PullRequest::ca_file>("CAFile", "Whom to trust.")
                                 .wire<&PullRequest::plain_http>("PlainHTTP", "No TLS.")
                                 .wire<&PullRequest::at_once>("AtOnce", "Layers.")
                                 .wire<&PullRequest::limits>("Limits", "What is taken.")
                                 .wire<&PullRequest::patience>("Patience", "How long is waited.")
                                 .done();
  return s;
}

const Structure& description(Tag<Progress>) {
  static const Structure s = Builder<Progress>("progress", "How far a pull is.")
                                 .wire<&Progress::layers>("Layers", "All.")
                                 .wire<&Progress::layers_done>("LayersDone", "That are there.")
                                 .wire<&Progress::bytes>("Bytes", "All.")
                                 .wire<&Progress::bytes_done>("BytesDone", "That are there.")
                                 .done();
  return s;
}

const Structure& description(Tag<Failure>) {
  static const Structure s = Builder<Failure>("failure", "Why it failed.")
                                 .wire<&Failure::code>("Code", "The reaction.")
                                 .wire<&Failure::message>("Message", "What.")
                                 .wire<&Failure::advice>("Advice", "The next step.")
                                 .wire<&Failure::reasons>("Reasons", "Why.")
                                 .done();
  return s;
}

const Structure& description(Tag<PullMessage>) {
  static const Structure s = Builder<PullMessage>("message", "What underway-pull says.")
                                 .wire<&PullMessage::progress>("Progress", "How far.")
                                 .wire<&PullMessage::failure>("Failure", "Why not.")
                                 .wire<&PullMessage::digest>("Digest", "What is there now.")
                                 .done();
  return s;
}

Failure to_failure(const Error& error) {
  return {std::string(to_string(error.code())), error.message(), error.advice(), error.reasons()};
}

Error to_error(const Failure& failure) {
  Code code = Code::internal;
  for (const Code each : {Code::invalid, Code::denied, Code::not_found, Code::conflict, Code::too_large,
                          Code::exhausted, Code::unavailable, Code::timeout, Code::unsupported})
    if (to_string(each) == failure.code) code = each;
  Error error(code, failure.message);
  error.because(failure.reasons);
  if (!failure.advice.empty()) error.advise(failure.advice);
  return error;
}

}  // namespace underway::oci
