// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: Lockstep contributors
// A PAM module with two factors: the account's password, then a menu as push services show it.
// "lab" and "1" are right. Loaded by a test's sshd only.
#include <security/pam_appl.h>
#include <security/pam_modules.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::string ask(pam_handle_t* handle, int style, const char* text) {
    const void* item = nullptr;
    if (pam_get_item(handle, PAM_CONV, &item) != PAM_SUCCESS || !item)
        return {};
    const auto* talk = static_cast<const pam_conv*>(item);
    const pam_message message{style, text};
    const pam_message* messages = &message;
    pam_response* responses = nullptr;
    if (talk->conv(1, &messages, &responses, talk->appdata_ptr) != PAM_SUCCESS || !responses)
        return {};
    const std::string reply = responses->resp ? responses->resp : "";
    std::free(responses->resp);
    std::free(responses);
    return reply;
}

} // namespace

extern "C" {

int pam_sm_authenticate(pam_handle_t* handle, int, int, const char**) {
    if (ask(handle, PAM_PROMPT_ECHO_OFF, "Password: ") != "lab")
        return PAM_AUTH_ERR;
    const std::string choice = ask(handle, PAM_PROMPT_ECHO_ON,
                                   "Two-factor login for the lab\n\n"
                                   " 1. Push to XXX-1234\n 2. Phone call to XXX-1234\n"
                                   " 3. SMS passcodes\n\nPasscode or option (1-3): ");
    return choice == "1" ? PAM_SUCCESS : PAM_AUTH_ERR;
}

int pam_sm_setcred(pam_handle_t*, int, int, const char**) {
    return PAM_SUCCESS;
}

} // extern "C"
