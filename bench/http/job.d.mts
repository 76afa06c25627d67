export const key: string;
export const token: string;
export const site: string;
export const order: string;
export function signOrder(text: string): string;
export function isSigned(text: string): boolean;
