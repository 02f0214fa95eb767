"""The part of an application that the example tests."""

from supabase import AuthApiError, Client


class Account:
    """Signs a user in with mailed codes."""

    def __init__(self, supabase: Client):
        self._supabase = supabase

    def request_code(self, email: str) -> None:
        """Send a code to the address."""
        self._supabase.auth.sign_in_with_otp({"email": email})

    def enter_code(self, email: str, code: str) -> bool:
        """Sign in with the code of the mail."""
        try:
            self._supabase.auth.verify_otp({"email": email, "token": code, "type": "email"})
        except AuthApiError:
            return False
        return True

    def current_email(self) -> str | None:
        """Return the address of the user, or None without a valid session."""
        try:
            user = self._supabase.auth.get_user()
        except AuthApiError:
            return None
        return user.user.email if user else None
