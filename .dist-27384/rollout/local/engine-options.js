export {};
//# sourceMappingURL=engine-options.js.map