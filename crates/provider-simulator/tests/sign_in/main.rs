//! Sign-ins of an auth API at the simulated providers, and the endpoints of the simulator.

mod endpoints;
mod native;
mod pages;
mod providers;
mod saml;
mod scenarios;
mod support;
