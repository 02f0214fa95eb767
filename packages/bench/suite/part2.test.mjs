import { defineTests } from "./flows.mjs";

defineTests();
