/** How often one model's answers earn more than another's to the same prompts. Pure. */
import { meanInterval } from './intervals.js';
/** Undefined where no prompt has rewards on both sides. */
export function winRate(duels) {
    let [wins, ties, losses] = [0, 0, 0];
    const shares = [];
    for (const { rewards, otherRewards } of duels) {
        if (rewards.length === 0 || otherRewards.length === 0)
            continue;
        let points = 0;
        for (const reward of rewards)
            for (const other of otherRewards) {
                if (reward > other)
                    wins++;
                else if (reward === other)
                    ties++;
                else
                    losses++;
                points += reward > other ? 1 : reward === other ? 0.5 : 0;
            }
        shares.push(points / (rewards.length * otherRewards.length));
    }
    if (shares.length === 0)
        return undefined;
    const { mean: rate, interval } = meanInterval(shares);
    const prompts = shares.length;
    return { rate, interval, prompts, missing: duels.length - prompts, wins, ties, losses };
}
//# sourceMappingURL=win-rate.js.map