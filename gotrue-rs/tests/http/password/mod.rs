mod leaked;
mod sealed;
mod stand_in;
