export {};
//# sourceMappingURL=experience.js.map