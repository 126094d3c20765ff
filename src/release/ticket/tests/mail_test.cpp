// Text as mail is written: what is read of it, and what is refused.
#include "ticket/mail.hpp"

#include <gmock/gmock.h>

#include "base/error.hpp"

namespace underway::ticket {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(std::string_view text) {
  try {
    parse_mail(text);
  } catch (const Error& error) {
    return fmt::format("{}: {}", to_string(error.code()), error.text());
  }
  return "it was taken";
}

TEST(TicketMail, IsHeadersAnEmptyLineAndText) {
  const auto mail = parse_mail(
      "From ada Mon Nov 23 10:00:00 2026\n"
      "From: Ada <ada@example.org>\n"
      "SUBJECT: mpirun hangs\n"
      "\ton c12\n"
      "Message-Id: <a1@example.org>\n"
      "X-Underway-Kind: Build\n"
      "X-Underway-Key: build/openmpi\n"
      "\n"
      "Since Monday.\r\n\n> as before\n\n");
  EXPECT_EQ(mail.subject, "mpirun hangs on c12");
  EXPECT_EQ(mail.body, "Since Monday.\n\n> as before");
  EXPECT_EQ(mail.kind, model::TicketKind::build);
  EXPECT_EQ(mail.key, "build/openmpi");
  EXPECT_EQ(mail.message_id, "a1@example.org");
  EXPECT_EQ(mail.ticket, 0);
  EXPECT_THAT(mail.text(),
              HasSubstr("From: Ada <ada@example.org> (as the message has it; nobody has checked it)\n\nSince"));
}

TEST(TicketMail, OfAReplyNamesItsTicket) {
  const auto mail = parse_mail(
      "Subject: Re: [#12] mpirun hangs\r\n"
      "In-Reply-To: <b@x>\r\n"
      "References: <a@x>\r\n <b@x> <c@x>\r\n"
      "\r\nIt works.\r\n");
  EXPECT_EQ(mail.ticket, 12);
  EXPECT_EQ(mail.subject, "Re: mpirun hangs");
  EXPECT_THAT(mail.replies_to, ElementsAre("b@x", "c@x", "b@x", "a@x"));
  EXPECT_EQ(mail.text(), "It works.") << "nobody is said to have sent it";
  for (const char* subject : {"[#0] x", "[#-3] x", "[#x] y", "[#12", "[12] x"})
    EXPECT_EQ(parse_mail(fmt::format("Subject: {}\n\nx", subject)).ticket, 0) << subject;
}

TEST(TicketMail, IsReadInUtf8HoweverItIsWritten) {
  const auto quoted = parse_mail(
      "Subject: =?utf-8?q?Stra=C3=9Fe_?= =?UTF-8?B?IGlzdCA=?= to =?odd\n"
      "Content-Type: text/plain; charset=\"utf-8\"; format=flowed\n"
      "Content-Transfer-Encoding: quoted-printable\n"
      "\n"
      "=C3=BCber=\n Nacht =3D gut\n");
  EXPECT_EQ(quoted.subject, "Straße  ist  to =?odd");
  EXPECT_EQ(quoted.body, "über Nacht = gut");
  const auto base64 = parse_mail("Subject: x\nContent-Transfer-Encoding: BASE64\n\nw7xi\nZXI=\n");
  EXPECT_EQ(base64.body, "über");
}

TEST(TicketMail, ThatIsNoPlainTextIsRefusedWithWhatToDo) {
  const struct {
    const char* mail;
    const char* why;
  } cases[] = {
      {"Subject: x\nContent-Type: multipart/alternative; boundary=b\n\n--b\n",
       "unsupported: error: the message has several parts"},
      {"Subject: x\nContent-Type: text/html\n\n<p>\n", "no plain text, but 'text/html'"},
      {"Subject: x\nContent-Type: text/plain; charset=iso-8859-1\n\nx\n", "character set 'iso-8859-1'"},
      {"Subject: =?koi8-r?q?x?=\n\nx\n", "character set 'koi8-r'"},
      {"Subject: x\nContent-Transfer-Encoding: uuencode\n\nx\n", "encoded as 'uuencode'"},
      {"Subject: x\n\n\xFF\n", "is not UTF-8"},
      {"Subject: x\nContent-Transfer-Encoding: quoted-printable\n\n=ZZ\n", "invalid: error: the message is not quoted"},
      {"Subject: x\nContent-Transfer-Encoding: base64\n\n???\n", "invalid"},
      {"hello\n", "line 1 of the message is no header"},
      {" Subject: x\n\n", "there is none to continue"},
      {"Subject: x\nno header\n\n", "line 2"},
      {"Sub ject: x\n\n", "no name"},
      {"Subject: x\nSubject: y\n\n", "two headers 'subject'"},
      {"Subject: x\nX-Underway-Kind: fire\n\n", "use one of gate, build"},
      {"From: a\x1b[2J\n\n", "control characters"},
  };
  for (const auto& it : cases) EXPECT_THAT(refusal(it.mail), HasSubstr(it.why)) << it.mail;
  EXPECT_THAT(refusal("Subject: x\n\n" + std::string(kLongestMail, 'x')), HasSubstr("too_large"));
  EXPECT_THAT(refusal("Subject: " + std::string(kLongestMailHead, 'x') + "\n\n"), HasSubstr("too_large"));
}

}  // namespace
}  // namespace underway::ticket
