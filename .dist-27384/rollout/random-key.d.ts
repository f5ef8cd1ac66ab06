export declare function randomKey(seed: number, promptId: string, sample: number): [number, number];
