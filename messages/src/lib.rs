//! Messages kept for development and tests: their API, Mailpit's and Inbucket's, and the inbox page.
