export default {
  testEnvironment: "node",
  // One server for all workers; each test has a world of its own.
  globalSetup: "@basalt/test/setup",
  maxWorkers: 2,
  // Modules of the packages run as they are.
  transform: {},
};
