//! Replays files of flows.
