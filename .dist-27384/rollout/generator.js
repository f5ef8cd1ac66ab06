export {};
//# sourceMappingURL=generator.js.map