export {};
//# sourceMappingURL=rollout-journal.js.map