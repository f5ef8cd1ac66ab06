export {};
//# sourceMappingURL=token-model.js.map