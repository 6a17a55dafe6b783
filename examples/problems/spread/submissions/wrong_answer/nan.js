console.log('nan nan');
